#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/tiff/imagej_description.h>
#include <headrace/loaders/volume/detail/tiff/natural_order.h>
#include <headrace/loaders/volume/detail/tiff/tiff_stack.h>
#include <headrace/loaders/volume/detail/voxel/flat_blocks.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

std::string in_words(const TiffPage& page) {
  return std::to_string(page.width) + " x " + std::to_string(page.height) + " " +
         std::string(name_of(page.dtype));
}

void require_same(const VoxelFile& file, std::size_t number, const TiffPage& page,
                  const TiffPage& first) {
  if (page.width == first.width && page.height == first.height && page.dtype == first.dtype) return;
  file.fail("page " + std::to_string(number) + " must be " + in_words(first) +
            " as the first one is, got " + in_words(page) + "; save a stack of equal slices");
}

/// A page, some of its strips or tiles, or rows of a plain one: about half a MiB of a large page.
VolumeIndex block_of(const TiffPage& page) {
  constexpr std::size_t whole = std::size_t{2} << 20, wanted = std::size_t{1} << 19;
  if (page.row_bytes() <= whole / static_cast<std::size_t>(page.height))
    return {1, 1, page.height, page.width};
  if (page.plain)
    return flat_block({1, 1, page.height, page.width},
                      static_cast<std::int64_t>(size_of(page.dtype)));
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(wanted / page.part_bytes, 1));
  if (!page.tiled) return {1, 1, std::min(page.height, parts * page.part_height), page.width};
  return {1, 1, std::min(page.height, page.part_height),
          std::min(page.width, parts * page.part_width)};
}

void set_spacing(TiffStack& stack, std::array<double, 3> spacing) {
  stack.info.spacing = spacing;
  stack.info.affine = {spacing[2], 0, 0, 0, 0, spacing[1], 0, 0, 0, 0, spacing[0], 0};
}

/// Spacing, channels and the order of pages as ImageJ says them.
void apply(const ImageJStack& said, const TiffHandle& first, TiffStack& stack) {
  const auto step = [&](double distance) {
    const double millimetres = distance * said.unit;
    return std::isfinite(millimetres) && millimetres > 0.0 ? millimetres : 1.0;
  };
  const double x = first.resolution_x(), y = first.resolution_y();
  set_spacing(stack, {said.spacing > 0.0 ? step(said.spacing) : 1.0, y > 0.0 ? step(1.0 / y) : 1.0,
                      x > 0.0 ? step(1.0 / x) : 1.0});
  const std::int64_t pages = stack.info.shape[1];
  std::int64_t product = 0;
  if (__builtin_mul_overflow(said.channels, said.slices, &product) ||
      __builtin_mul_overflow(product, said.frames, &product) || product != pages)
    return;
  stack.channels = said.channels;
  stack.info.shape[0] = said.channels * said.frames;
  stack.info.shape[1] = said.slices;
}

/// One directory for many images: they must follow each other in the file.
void find_pieces(const ImageJStack& said, const TiffPage& page, TiffHandle& first,
                 TiffStack& stack) {
  const std::size_t page_bytes = page.row_bytes() * static_cast<std::size_t>(page.height);
  if (!page.plain || page.part_height < page.height) {
    stack.file->fail("says that it has " + std::to_string(said.images) +
                     " images but has one directory, and they are not in one piece; save it anew");
  }
  stack.pieces = first.place_of(page, 0, page_bytes);
  stack.swapped = page.swapped;
  const std::uint64_t most = (stack.file->size() - stack.pieces) / page_bytes;
  if (most < static_cast<std::uint64_t>(said.images)) {
    stack.file->fail("must have the " + std::to_string(said.images) +
                     " images that its description says, got " + std::to_string(most) +
                     "; it is truncated, copy it again");
  }
  stack.info.shape[1] = said.images;
}

/// Reads the rest of the directories; gives the first page.
TiffPage read_directories(TiffHandle& handle, TiffStack& stack, const VolumeLimits& limits) {
  const TiffPage first = handle.page(0);
  stack.directories.push_back(handle.directory());
  stack.part_bytes = first.part_bytes;
  while (handle.next()) {
    if (handle.is_extra()) continue;
    const std::size_t number = stack.directories.size();
    if (number >= limits.metadata_bytes / sizeof(std::uint64_t))
      stack.file->fail("must have at most " + std::to_string(number) + " pages, got more");
    const TiffPage page = handle.page(number);
    require_same(*stack.file, number, page, first);
    stack.part_bytes = std::max(stack.part_bytes, page.part_bytes);
    stack.directories.push_back(handle.directory());
  }
  return first;
}

void describe(const TiffPage& page, std::int64_t pages, TiffStack& stack) {
  stack.info.shape = {1, pages, page.height, page.width};
  stack.info.block = block_of(page);
  stack.info.dtype = page.dtype;
}

std::vector<fs::path> slices_in(const fs::path& folder) {
  std::vector<FolderEntry> entries;
  try {
    entries = folder_entries(folder.native());
  } catch (const fs::filesystem_error& failure) {
    cannot_list(failure, "tiff");
  }
  std::erase_if(entries, [](const FolderEntry& entry) { return !is_tiff_slice(entry); });
  std::ranges::sort(entries, [](const FolderEntry& a, const FolderEntry& b) {
    return natural_less(a.name, b.name);
  });
  const std::string root = canonical_folder(folder, "tiff", "a folder of slices");
  std::vector<fs::path> slices;
  for (const FolderEntry& entry : entries) {
    slices.push_back(folder / entry.name);
    if (entry.link) check_link(slices.back(), root, "tiff");
  }
  return slices;
}

}  // namespace

bool is_tiff_slice(const FolderEntry& entry) {
  const fs::path suffix = fs::path(entry.name).extension();
  const bool tiff = suffix == ".tif" || suffix == ".tiff" || suffix == ".TIF" || suffix == ".TIFF";
  return tiff && entry.regular && !entry.name.starts_with('.');
}

TiffStack index_tiff(const fs::path& path, const VolumeLimits& limits) {
  TiffStack stack;
  stack.file = std::make_shared<const VoxelFile>(path, "tiff");
  TiffHandle handle;
  handle.open(stack.file, limits.block_bytes);
  const TiffPage first = read_directories(handle, stack, limits);
  handle.go_to(stack.directories.front());
  describe(first, static_cast<std::int64_t>(stack.directories.size()), stack);
  if (const std::optional<ImageJStack> said = imagej_stack(handle.description())) {
    if (said->images > 1 && stack.directories.size() == 1) find_pieces(*said, first, handle, stack);
    apply(*said, handle, stack);
  }
  return stack;
}

TiffStack index_tiff_folder(const fs::path& folder, const VolumeLimits& limits) {
  TiffStack stack;
  stack.slices = slices_in(folder);
  if (stack.slices.empty())
    throw ConfigError("[tiff] " + printable(folder.native()) +
                      ": must hold slices named .tif or .tiff, got none; check the path");
  std::optional<TiffPage> first;
  for (const fs::path& slice : stack.slices) {
    const auto file = std::make_shared<const VoxelFile>(slice, "tiff");
    TiffHandle handle;
    handle.open(file, limits.block_bytes);
    const TiffPage page = handle.page(0);
    if (!first) first = page;
    require_same(*file, 0, page, *first);
    stack.part_bytes = std::max(stack.part_bytes, page.part_bytes);
    if (handle.next() && !handle.is_extra())
      file->fail("must have one page, as a slice of a folder, got more; open it by itself");
  }
  describe(*first, static_cast<std::int64_t>(stack.slices.size()), stack);
  return stack;
}

}  // namespace headrace::inline v1::detail
