#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/nifti/nifti_header.h>
#include <headrace/loaders/volume/detail/tiff/tiff_memory.h>
#include <headrace/loaders/volume/volume_writer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <zlib.h>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_volume(const fs::path& path, const std::string& rule) {
  throw ConfigError("[volume writer] " + detail::printable(path.native()) + ": " + rule);
}

/// The type that is written, which the formats have.
DType checked_type(const fs::path& path, const VolumeInfo& info,
                   std::span<const std::byte> voxels) {
  const auto bytes = static_cast<std::size_t>(voxels_of(info.shape)) * size_of(info.dtype);
  if (bytes == 0 || bytes != voxels.size()) {
    refuse_volume(path, "shape and type say " + std::to_string(bytes) + " bytes, got " +
                            std::to_string(voxels.size()));
  }
  const DType dtype = info.dtype == DType::boolean ? DType::uint8 : info.dtype;
  if (detail::nifti_datatype(dtype) == 0) {
    refuse_volume(path, "voxels must be integers or floats of 32 or 64 bits, got " +
                            std::string(name_of(dtype)) + "; convert them to float32");
  }
  return dtype;
}

using detail::in_digits;
using NiftiStart = std::array<std::byte, 352>;

template <class T>
void put(NiftiStart& start, std::size_t at, T value) {
  std::memcpy(start.data() + at, &value, sizeof value);
}

NiftiStart nifti_start(const VolumeInfo& info, DType dtype) {
  static_assert(std::endian::native == std::endian::little);
  NiftiStart start{};
  put<std::int32_t>(start, 0, 348);
  const VolumeIndex& shape = info.shape;
  const std::array<std::int64_t, 8> dim{
      shape[0] > 1 ? 4 : 3, shape[3], shape[2], shape[1], shape[0], 1, 1, 1};
  const std::array<double, 8> pixdim{
      1.0, info.spacing[2], info.spacing[1], info.spacing[0], 1.0, 1.0, 1.0, 1.0};
  for (std::size_t i = 0; i < dim.size(); ++i) {
    put(start, 40 + 2 * i, static_cast<std::int16_t>(dim[i]));
    put(start, 76 + 4 * i, static_cast<float>(pixdim[i]));
  }
  put(start, 70, static_cast<std::int16_t>(detail::nifti_datatype(dtype)));
  put(start, 72, static_cast<std::int16_t>(8 * size_of(dtype)));
  put(start, 108, 352.0F);
  put(start, 112, static_cast<float>(info.scale));
  put(start, 116, static_cast<float>(info.offset));
  put<std::uint8_t>(start, 123, 2);  // millimetres
  put<std::int16_t>(start, 254, 2);  // the sform is that of another image
  for (std::size_t i = 0; i < info.affine.size(); ++i)
    put(start, 280 + 4 * i, static_cast<float>(info.affine[i]));
  std::memcpy(start.data() + 344, "n+1", 4);
  return start;
}

/// One gzip member of pieces.
class GzipWriter {
 public:
  GzipWriter() {
    constexpr int gzip = 15 + 16, memory = 8;
    if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, memory,
                       Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~GzipWriter() { ::deflateEnd(&stream_); }
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void add(std::span<const std::byte> bytes) {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(most, bytes.size()))) {
      const std::span<const std::byte> now = bytes.first(std::min(most, bytes.size()));
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(now.data()));
      stream_.avail_in = static_cast<uInt>(now.size());
      run(Z_NO_FLUSH);
    }
  }
  std::span<const std::byte> finish() {
    run(Z_FINISH);
    return packed_;
  }

 private:
  void run(int flush) {
    std::vector<std::byte> piece(std::size_t{256} << 10);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      ::deflate(&stream_, flush);
      packed_.insert(packed_.end(), piece.begin(),
                     piece.end() - static_cast<std::ptrdiff_t>(stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::vector<std::byte> packed_;
};

std::string imagej_description(const VolumeInfo& info) {
  std::string text = "ImageJ=1.54f\nimages=" + std::to_string(info.shape[0] * info.shape[1]);
  if (info.shape[0] > 1) text += "\nchannels=" + std::to_string(info.shape[0]);
  text += "\nslices=" + std::to_string(info.shape[1]);
  if (info.shape[0] > 1) text += "\nhyperstack=true\nmode=grayscale";
  return text + "\nunit=mm\nspacing=" + in_digits(info.spacing[0]) + "\nloop=false\n";
}

}  // namespace

void write_nifti(const fs::path& path, const VolumeInfo& info, std::span<const std::byte> voxels) {
  constexpr std::int64_t most = 32767;
  const DType dtype = checked_type(path, info, voxels);
  const std::int64_t longest = std::ranges::max(info.shape);
  if (longest > most) {
    refuse_volume(path, "NIfTI-1 has extents up to " + std::to_string(most) + ", got " +
                            std::to_string(longest) + "; write TIFF");
  }
  const NiftiStart start = nifti_start(info, dtype);
  const AtomicFileOptions options{.who = "volume writer"};
  if (path.extension() == ".gz") {
    GzipWriter packed;
    packed.add(start);
    packed.add(voxels);
    return write_file_atomically(path, packed.finish(), options);
  }
  const FileContent content{start.size() + voxels.size(), [&](const ByteSink& sink) {
                              sink(start);
                              sink(voxels);
                            }};
  write_file_atomically(path, content, options);
}

void write_tiff_volume(const fs::path& path, const VolumeInfo& info,
                       std::span<const std::byte> voxels) {
  constexpr std::size_t most_plain = std::size_t{3} << 30;  // offsets of TIFF end at 4 GiB
  const DType dtype = checked_type(path, info, voxels);
  if (info.scale != 1.0 || info.offset != 0.0) {
    refuse_volume(path, "TIFF has no scale and offset, got " + in_digits(info.scale) + " and " +
                            in_digits(info.offset) + "; apply them, or write NIfTI");
  }
  const detail::TiffPageFormat format{.width = static_cast<std::uint32_t>(info.shape[3]),
                                      .height = static_cast<std::uint32_t>(info.shape[2]),
                                      .dtype = dtype,
                                      .description = imagej_description(info),
                                      .resolution_x = 1.0 / info.spacing[2],
                                      .resolution_y = 1.0 / info.spacing[1]};
  const auto channels = static_cast<std::size_t>(info.shape[0]);
  const auto slices = static_cast<std::size_t>(info.shape[1]);
  const std::size_t page_bytes = voxels.size() / channels / slices;
  detail::TiffMemory file(voxels.size() > most_plain);
  for (std::size_t page = 0; page < channels * slices; ++page) {
    const std::size_t at = page % channels * slices + page / channels;
    file.add(format, voxels.subspan(at * page_bytes, page_bytes));
  }
  write_file_atomically(path, file.finish(), {.who = "volume writer"});
}

}  // namespace headrace::inline v1
