#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/b2nd_volume.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>
#include <headrace/loaders/volume/detail/array/kept_indexes.h>
#include <headrace/loaders/volume/detail/b2nd/b2nd_chunk.h>
#include <headrace/loaders/volume/detail/b2nd/b2nd_frame.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace headrace::inline v1 {
namespace {

using detail::B2ndFrame;
using detail::named;
using detail::StoreFile;

[[noreturn]] void cannot_open(const std::string& name, int error) {
  detail::file_failed(
      "[volume] " + name + ": cannot be opened: " + std::generic_category().message(error), error,
      "; check the path and its permissions");
}

StoreFile open_file(const std::filesystem::path& path, const std::string& name) {
  detail::FileDescriptor file(path.c_str());
  struct stat now {};
  if (file.number() < 0 || ::fstat(file.number(), &now) != 0) cannot_open(name, errno);
  if (!S_ISREG(now.st_mode)) cannot_open(name, ENOENT);
  const detail::FileStamp opened = detail::open_stamp(file.number());
  return {std::move(file), opened};
}

/// Extents of what is read at once: a block's, but a chunk's where the blocks of several chunks are
/// no grid.
std::vector<std::int64_t> unit_of(const B2ndFrame& frame) {
  std::vector<std::int64_t> unit = frame.block;
  for (std::size_t axis = 0; axis < unit.size(); ++axis)
    if (frame.chunk[axis] % frame.block[axis] != 0 && frame.chunks_along(axis) > 1)
      unit[axis] = frame.chunk[axis];
  return unit;
}

/// The blocks of one chunk that make up a unit: its numbers along each axis from `begin` on.
struct Part {
  std::size_t chunk = 0;
  std::vector<std::int64_t> begin{}, count{};
};

class B2ndVolume final : public Volume {
 public:
  B2ndVolume(VolumeInfo info, std::string name, StoreFile file, B2ndFrame frame,
             detail::ArrayAxes axes)
      : Volume(info, std::move(name)),
        file_(std::move(file)),
        frame_(std::move(frame)),
        axes_(std::move(axes)),
        unit_(unit_of(frame_)),
        layout_(axes_, frame_.block, detail::row_order(frame_.block.size()), frame_.type.size()),
        chunks_(detail::most_index_bytes) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    return named(name(), [&] { return read(part_of(place), out); });
  }
  std::size_t working_bytes() const override {
    return 4 * frame_.block_bytes + (std::size_t{64} << 10);
  }
  std::size_t resident_bytes() const override {
    const std::size_t chunks = frame_.offsets.size(), words = frame_.blocks + 24;
    return chunks * 8 + (words > detail::most_index_bytes / 8 / chunks ? detail::most_index_bytes
                                                                       : chunks * words * 8);
  }

 private:
  Part part_of(const VolumeIndex& place) const {
    Part part;
    const std::vector<std::int64_t> at = axes_.array(place);
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      const bool whole = unit_[axis] != frame_.block[axis];
      const std::int64_t first = at[axis] * unit_[axis];
      // One chunk alone may end inside a block.
      const std::int64_t chunk =
          std::min(first / frame_.chunk[axis], frame_.chunks_along(axis) - 1);
      part.chunk = part.chunk * static_cast<std::size_t>(frame_.chunks_along(axis)) +
                   static_cast<std::size_t>(chunk);
      part.begin.push_back((first - chunk * frame_.chunk[axis]) / frame_.block[axis]);
      part.count.push_back(whole ? frame_.blocks_along(axis) : 1);
    }
    return part;
  }

  std::uint64_t read(const Part& part, std::span<std::byte> out) const {
    std::int64_t blocks = 1;
    for (const std::int64_t count : part.count)
      blocks *= count;
    std::uint64_t bytes = 0;
    if (blocks == 1 && layout_.same()) {
      bytes = decode(part.chunk, number_of(part, 0).first, out);
    } else {
      thread_local detail::ScratchBytes room;
      const auto block = room.take(frame_.block_bytes);
      for (std::int64_t i = 0; i < blocks; ++i) {
        const auto [number, at] = number_of(part, i);
        bytes += decode(part.chunk, number, block);
        layout_.copy(block.data(), out.data(), info().block, at);
      }
    }
    const std::size_t size = frame_.type.size();
    if (frame_.type.swap) detail::reverse_bytes(out.data(), out.size() / size, size);
    return bytes;
  }

  /// The number in its chunk of a block of a part, and its place in the part.
  std::pair<std::size_t, VolumeIndex> number_of(const Part& part, std::int64_t block) const {
    std::vector<std::int64_t> at(part.count.size());
    for (std::size_t axis = at.size(); axis-- > 0; block /= part.count[axis])
      at[axis] = block % part.count[axis];
    std::size_t number = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      number = number * static_cast<std::size_t>(frame_.blocks_along(axis)) +
               static_cast<std::size_t>(part.begin[axis] + at[axis]);
      at[axis] *= frame_.block[axis];
    }
    VolumeIndex place{};
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      if (axes_.axis(axis) != detail::ArrayAxes::none)
        place[static_cast<std::size_t>(axes_.axis(axis))] = at[axis];
    return {number, place};
  }

  /// In the byte order of the file.
  std::uint64_t decode(std::size_t chunk, std::size_t block, std::span<std::byte> out) const {
    const std::int64_t offset = frame_.offsets[chunk];
    if (offset < 0) {
      detail::fill_b2nd_block(frame_, offset, out);
      return 0;
    }
    std::uint64_t bytes = 0;
    const auto described = chunks_.get(
        chunk, [&] { return detail::B2ndChunk::describe(file_, frame_, offset, bytes); });
    thread_local detail::CodecScratch scratch;
    return bytes +
           detail::B2ndChunk(frame_, offset, *described).read_block(file_, block, out, scratch);
  }

  StoreFile file_;
  B2ndFrame frame_;
  detail::ArrayAxes axes_;
  std::vector<std::int64_t> unit_;
  detail::BoxLayout layout_;  // of a block of the file
  mutable detail::KeptIndexes chunks_;
};

}  // namespace

std::shared_ptr<const Volume> open_b2nd_volume(const std::filesystem::path& path,
                                               const VolumeLimits& limits) {
  const std::string name = detail::printable(path.native());
  StoreFile file = open_file(path, name);
  B2ndFrame frame = named(name, [&] { return detail::read_b2nd_frame(file, limits); });
  const detail::ArrayAxes axes = named(name, [&] { return detail::ArrayAxes(frame.shape); });
  const VolumeInfo info{.shape = axes.volume(frame.shape),
                        .block = axes.volume(unit_of(frame)),
                        .dtype = frame.type.dtype};
  check_volume(info, limits, name);
  return std::make_shared<const B2ndVolume>(info, name, std::move(file), std::move(frame), axes);
}

}  // namespace headrace::inline v1
