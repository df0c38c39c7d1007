#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/nifti/gzip_reader.h>
#include <headrace/loaders/volume/detail/nifti/nifti_header.h>
#include <headrace/loaders/volume/detail/voxel/flat_blocks.h>
#include <headrace/loaders/volume/detail/voxel/voxel_file.h>
#include <headrace/loaders/volume/nifti_volume.h>

#include <array>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;
using detail::GzipReader;
using detail::NiftiHeader;
using detail::VoxelFile;

bool is_packed(const VoxelFile& file) {
  std::array<std::byte, 2> start{};
  return GzipReader::is_gzip(std::span(start).first(file.read_some(start, 0)));
}

NiftiHeader read_header(const VoxelFile& file) {
  std::array<std::byte, detail::nifti_header_bytes> start{};
  const std::size_t got =
      is_packed(file) ? GzipReader(file).read_some(start) : file.read_some(start, 0);
  try {
    return detail::parse_nifti_header(std::span(start).first(got));
  } catch (const DataError& error) {
    file.fail(error.what());
  }
}

fs::path header_path(const fs::path& path) {
  const fs::path plain = path.extension() == ".gz" ? path.stem() : path.filename();
  return plain.extension() == ".img" ? nifti_partner(path) : path;
}

/// Throws unless the voxels are all of the file from their offset on, or could be.
void require_size(const VoxelFile& file, const NiftiHeader& header, bool packed) {
  const auto bytes =
      static_cast<std::uint64_t>(voxels_of(header.info.shape)) * size_of(header.info.dtype);
  const std::uint64_t end = header.offset + bytes;
  const std::uint64_t most = packed ? GzipReader::most_bytes(file.size()) : file.size();
  if (packed ? end <= most : end == most) return;
  file.fail("shape, type and vox_offset say " + std::to_string(end) + " bytes, the file " +
            (packed ? "can unpack to " : "has ") + std::to_string(most) +
            (end > most ? "; it is truncated or damaged, copy it again"
                        : "; its header is damaged, or something was added behind the voxels"));
}

class NiftiVolume final : public Volume {
 public:
  NiftiVolume(VoxelFile file, const NiftiHeader& header, bool packed)
      : Volume(header.info, file.name()),
        file_(std::move(file)),
        offset_(header.offset),
        swap_(header.swap),
        packed_(packed) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const std::size_t voxel = size_of(info().dtype);
    const detail::FlatRange range = detail::flat_range(info(), place);
    const std::span<std::byte> to = out.first(static_cast<std::size_t>(range.count) * voxel);
    const std::uint64_t read = packed_ ? unpack(to) : to.size();
    if (!packed_) file_.read(to, offset_ + static_cast<std::uint64_t>(range.first) * voxel);
    if (swap_) detail::reverse_bytes(to.data(), static_cast<std::size_t>(range.count), voxel);
    return read;
  }

  std::size_t working_bytes() const override { return packed_ ? GzipReader::working_bytes : 0; }

 private:
  std::uint64_t unpack(std::span<std::byte> to) const {
    GzipReader reader(file_);
    reader.skip(offset_);
    reader.read(to);
    reader.require_end();
    return reader.stored_bytes();
  }

  VoxelFile file_;
  std::uint64_t offset_;
  bool swap_;
  bool packed_;
};

}  // namespace

fs::path nifti_partner(const fs::path& path) {
  const bool packed = path.extension() == ".gz";
  fs::path plain = packed ? fs::path(path).replace_extension() : path;
  const bool header = plain.extension() == ".hdr";
  if (!header && plain.extension() != ".img") return {};
  plain.replace_extension(header ? ".img" : ".hdr");
  return packed ? plain += ".gz" : plain;
}

std::shared_ptr<const Volume> open_nifti_volume(const fs::path& path, const VolumeLimits& limits) {
  const fs::path head = header_path(path);
  NiftiHeader header = read_header(VoxelFile(head, "nifti"));
  VoxelFile file(header.pair ? nifti_partner(head) : head, "nifti");
  const bool packed = is_packed(file);
  // Extents first: what follows multiplies them.
  header.info.block = {1, 1, 1, 1};
  VolumeLimits extents = limits;
  extents.blocks = std::int64_t{1} << 62;
  check_volume(header.info, extents, file.name());
  const auto voxel = static_cast<std::int64_t>(size_of(header.info.dtype));
  header.info.block = packed ? header.info.shape : detail::flat_block(header.info.shape, voxel);
  check_volume(header.info, limits, file.name());
  require_size(file, header, packed);
  return std::make_shared<NiftiVolume>(std::move(file), header, packed);
}

}  // namespace headrace::inline v1
