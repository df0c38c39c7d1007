#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/internal/scratch_pool.h>
#include <headrace/loaders/volume/detail/tiff/tiff_stack.h>
#include <headrace/loaders/volume/tiff_volume.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;
using detail::TiffHandle;
using detail::TiffPage;
using detail::TiffStack;
using detail::VoxelFile;

/// Part of a page: columns [x, x + width) of rows [y, y + height).
struct Window {
  std::int64_t x, y, width, height;
};

/// The window's place in memory, whose rows are `stride` bytes long.
struct Target {
  std::span<std::byte> bytes;
  std::size_t stride;
};

/// What a call needs: libtiff on one file, and a strip or tile.
struct Scratch {
  TiffHandle handle;
  std::size_t slice = 0;
  detail::ScratchBytes part;
};

/// Rows that lie in the file as they do in memory, in stretches of `stretch` rows; `place(y, rows)`
/// says where rows [y, y + rows) of one stretch begin. Whole rows of stretches that follow each
/// other are read together.
template <class Place>
std::uint64_t read_rows(const VoxelFile& file, const TiffPage& page, std::int64_t stretch,
                        const Window& window, const Target& out, const Place& place) {
  const std::size_t voxel = size_of(page.dtype);
  const bool whole = window.width == page.width;
  const auto run = static_cast<std::size_t>(window.width) * voxel;
  std::uint64_t begin = 0, to = 0, pending = 0, done = 0;
  const auto flush = [&] {
    const std::span<std::byte> now = out.bytes.subspan(to, pending);
    if (pending > 0) file.read(now, begin);
    if (page.swapped) detail::reverse_bytes(now.data(), pending / voxel, voxel);
    done += pending;
  };
  for (std::int64_t y = window.y, end = y + window.height, rows = 1; y < end; y += rows) {
    rows = whole ? std::min(end - y, stretch - y % stretch) : 1;
    const std::uint64_t at = place(y, rows) + static_cast<std::size_t>(window.x) * voxel;
    if (!whole || at != begin + pending) {
      flush();
      begin = at;
      to = static_cast<std::size_t>(y - window.y) * out.stride;
      pending = 0;
    }
    pending += run * static_cast<std::size_t>(rows);
  }
  flush();
  return done;
}

/// Copies what of a decoded strip or tile at (x, y) lies in the window.
void copy_part(const TiffPage& page, std::int64_t x, std::int64_t y,
               std::span<const std::byte> part, const Window& window, const Target& out) {
  const std::size_t voxel = size_of(page.dtype);
  const std::int64_t first_x = std::max(x, window.x), first_y = std::max(y, window.y);
  const std::int64_t end_x = std::min(x + page.part_width, window.x + window.width);
  const std::int64_t end_y = std::min(y + page.part_height, window.y + window.height);
  const auto run = static_cast<std::size_t>(end_x - first_x) * voxel;
  for (std::int64_t row = first_y; row < end_y; ++row) {
    const std::byte* from =
        part.data() + static_cast<std::size_t>((row - y) * page.part_width + first_x - x) * voxel;
    std::byte* to = out.bytes.data() + static_cast<std::size_t>(row - window.y) * out.stride +
                    static_cast<std::size_t>(first_x - window.x) * voxel;
    std::memcpy(to, from, run);
  }
}

/// Decodes the strips or tiles that the window lies in, straight to their place where they fill it.
void decode_parts(Scratch& scratch, const TiffPage& page, const Window& window, const Target& out) {
  const std::int64_t first_x = window.x / page.part_width * page.part_width;
  const std::int64_t first_y = window.y / page.part_height * page.part_height;
  for (std::int64_t y = first_y; y < window.y + window.height; y += page.part_height) {
    const std::int64_t rows =
        page.tiled ? page.part_height : std::min(page.part_height, page.height - y);
    const std::size_t bytes = page.part_bytes / static_cast<std::size_t>(page.part_height) *
                              static_cast<std::size_t>(rows);
    for (std::int64_t x = first_x; x < window.x + window.width; x += page.part_width) {
      const bool inside = y >= window.y && y + rows <= window.y + window.height && window.x == x &&
                          window.width == page.part_width &&
                          out.stride * static_cast<std::size_t>(rows) == bytes;
      if (inside) {
        const auto at = static_cast<std::size_t>(y - window.y) * out.stride;
        scratch.handle.read_part(page, x, y, out.bytes.subspan(at, bytes));
        continue;
      }
      const std::span<std::byte> part = scratch.part.take(bytes);
      scratch.handle.read_part(page, x, y, part);
      copy_part(page, x, y, part, window, out);
    }
  }
}

class TiffVolume final : public Volume {
 public:
  TiffVolume(TiffStack stack, std::string name, std::size_t most_bytes)
      : Volume(stack.info, std::move(name)), stack_(std::move(stack)), most_bytes_(most_bytes) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const VolumeIndex& block = info().block;
    const VolumeIndex& shape = info().shape;
    Window window{place[3] * block[3], place[2] * block[2], 0, 0};
    window.width = std::min(block[3], shape[3] - window.x);
    window.height = std::min(block[2], shape[2] - window.y);
    const std::size_t page = stack_.page(place[0], place[1]);
    const Target target{out, static_cast<std::size_t>(block[3]) * size_of(info().dtype)};
    return stack_.pieces > 0 ? read_piece(page, window, target) : read_page(page, window, target);
  }

  /// A strip or tile as stored, another one decoded.
  std::size_t working_bytes() const override { return 2 * stack_.part_bytes; }
  std::size_t resident_bytes() const override {
    std::size_t bytes = stack_.directories.size() * sizeof(std::uint64_t);
    for (const fs::path& slice : stack_.slices)
      bytes += sizeof(fs::path) + slice.native().size() + sizeof(detail::FileStamp);
    return bytes;
  }

 private:
  std::shared_ptr<const VoxelFile> slice(std::size_t page) const {
    try {
      auto file = std::make_shared<const VoxelFile>(stack_.slices[page], "tiff");
      detail::require_unchanged(file->name(), stack_.stamps[page], file->opened());
      return file;
    } catch (const ConfigError& error) {  // it was there at opening
      throw DataError(error.what());
    }
  }

  void go_to(Scratch& scratch, std::size_t page) const {
    if (stack_.file) {
      if (!scratch.handle.is_open()) scratch.handle.open(stack_.file, most_bytes_);
      return scratch.handle.go_to(stack_.directories[page]);
    }
    if (scratch.handle.is_open() && scratch.slice == page) return;
    scratch.handle.open(slice(page), most_bytes_);
    scratch.slice = page;
  }

  std::uint64_t read_page(std::size_t number, const Window& window, const Target& out) const {
    const auto scratch = scratches_.take();
    go_to(*scratch, number);
    scratch->handle.read_bytes = 0;
    const TiffPage page = scratch->handle.page(number);
    if (page.width != info().shape[3] || page.height != info().shape[2] ||
        page.dtype != info().dtype)
      scratch->handle.file()->fail("page " + std::to_string(number) +
                                   " is not what it was at opening; leave files alone while they "
                                   "are read");
    if (page.plain) {
      return read_rows(*scratch->handle.file(), page, page.part_height, window, out,
                       [&](std::int64_t y, std::int64_t rows) {
                         const auto inside = static_cast<std::size_t>(y % page.part_height);
                         const std::size_t before = inside * page.row_bytes();
                         const auto bytes = static_cast<std::size_t>(rows) * page.row_bytes();
                         return scratch->handle.place_of(page, y, before + bytes) + before;
                       });
    }
    decode_parts(*scratch, page, window, out);
    return scratch->handle.read_bytes;
  }

  std::uint64_t read_piece(std::size_t number, const Window& window, const Target& out) const {
    const VolumeIndex& shape = info().shape;
    const TiffPage page{
        .width = shape[3], .height = shape[2], .dtype = info().dtype, .swapped = stack_.swapped};
    const std::uint64_t first =
        stack_.pieces + number * static_cast<std::size_t>(shape[2]) * page.row_bytes();
    return read_rows(*stack_.file, page, shape[2], window, out, [&](std::int64_t y, std::int64_t) {
      return first + static_cast<std::size_t>(y) * page.row_bytes();
    });
  }

  TiffStack stack_;
  std::size_t most_bytes_;
  mutable detail::ScratchPool<Scratch> scratches_;
};

}  // namespace

std::shared_ptr<const Volume> open_tiff_volume(const fs::path& path, const VolumeLimits& limits) {
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  TiffStack stack =
      folder ? detail::index_tiff_folder(path, limits) : detail::index_tiff(path, limits);
  std::string name = detail::printable(path.native());
  check_volume(stack.info, limits, name);
  return std::make_shared<TiffVolume>(std::move(stack), std::move(name), limits.block_bytes);
}

}  // namespace headrace::inline v1
