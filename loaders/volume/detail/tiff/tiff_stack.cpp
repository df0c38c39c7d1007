#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/tiff/stack_description.h>
#include <headrace/loaders/volume/detail/tiff/tiff_stack.h>
#include <headrace/loaders/volume/detail/voxel/flat_blocks.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Takes the digits that a name begins with, without zeros before them.
std::string_view take_number(std::string_view& text) noexcept {
  std::size_t zeros = 0;
  while (zeros < text.size() && text[zeros] == '0')
    ++zeros;
  std::size_t end = zeros;
  while (end < text.size() && is_digit(text[end]))
    ++end;
  const std::string_view number = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return number;
}

/// Whether a name comes before another as people number files: "slice2" before "slice10". Runs of
/// digits compare as numbers, all else byte by byte, and what is equal so far by its bytes.
bool natural_less(std::string_view a, std::string_view b) noexcept {
  std::string_view left = a, right = b;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const std::string_view one = take_number(left), other = take_number(right);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      continue;
    }
    if (left.front() != right.front())
      return static_cast<unsigned char>(left.front()) < static_cast<unsigned char>(right.front());
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  if (left.empty() != right.empty()) return left.empty();
  return a < b;
}

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

/// Nothing where the directory has no description that is known.
std::optional<StackDescription> description_of(const TiffHandle& handle, const TiffPage& page,
                                               std::size_t pages) {
  try {
    return stack_description(handle.description(), {.pages = static_cast<std::int64_t>(pages),
                                                    .width = page.width,
                                                    .height = page.height,
                                                    .resolution = handle.resolution()});
  } catch (const DataError& error) {
    handle.file()->fail(error.what());
  }
}

/// Channels, slices and the order of pages as the description says them.
void arrange(const StackDescription& said, TiffStack& stack) {
  const std::string planes = std::to_string(said.channels) + " channels, " +
                             std::to_string(said.slices) + " slices, " +
                             std::to_string(said.frames) + " time points";
  if (said.frames > 1) {
    stack.file->fail("must be one volume, its description says " + planes +
                     "; save each time point as a file of its own (slices that its writer took for "
                     "time points: as slices)");
  }
  if (said.planes() != stack.info.shape[1]) {
    stack.file->fail("must have the pages that its description says, " + planes + ", got " +
                     std::to_string(stack.info.shape[1]) +
                     "; it is cut off, one file of several, or was changed by a program that left "
                     "the description; save it anew");
  }
  const auto directories = stack.directories;
  for (std::size_t plane = 0; plane < said.pages.size(); ++plane)
    stack.directories[plane] = directories[said.pages[plane]];
  stack.info.shape[0] = said.channels;
  stack.info.shape[1] = said.slices;
  stack.channel_step = said.slices_first ? said.slices : 1;
  stack.slice_step = said.slices_first ? 1 : said.channels;
  stack.info.spacing = said.spacing;
  stack.info.affine = {said.spacing[2], 0, 0, 0, 0, said.spacing[1], 0, 0, 0, 0,
                       said.spacing[0], 0};
}

/// One directory for many images: they must follow each other in the file, none over the directory.
void find_pieces(std::int64_t planes, const TiffPage& page, TiffHandle& first, TiffStack& stack) {
  const std::size_t page_bytes = page.row_bytes() * static_cast<std::size_t>(page.height);
  if (!page.plain || page.part_height < page.height) {
    stack.file->fail("says that it has " + std::to_string(planes) +
                     " images but has one directory, and they are not in one piece; save it anew");
  }
  stack.pieces = first.place_of(page, 0, page_bytes);
  stack.swapped = page.swapped;
  const std::uint64_t directory = stack.directories.front();
  const std::uint64_t end = directory > stack.pieces ? directory : stack.file->size();
  const std::uint64_t most = (end - stack.pieces) / page_bytes;
  if (most < static_cast<std::uint64_t>(planes)) {
    stack.file->fail("must have the " + std::to_string(planes) +
                     " images that its description says, got " + std::to_string(most) +
                     "; it is truncated, copy it again");
  }
  stack.info.shape[1] = planes;
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
  const bool file = entry.regular || (entry.link && !entry.folder);  // which may lead nowhere
  return tiff && file && !entry.name.starts_with('.');
}

TiffStack index_tiff(const fs::path& path, const VolumeLimits& limits) {
  TiffStack stack;
  stack.file = std::make_shared<const VoxelFile>(path, "tiff");
  TiffHandle handle;
  handle.open(stack.file, limits.block_bytes);
  const TiffPage first = read_directories(handle, stack, limits);
  handle.go_to(stack.directories.front());
  describe(first, static_cast<std::int64_t>(stack.directories.size()), stack);
  if (const auto said = description_of(handle, first, stack.directories.size())) {
    if (said->in_one_piece && said->planes() > 1 && said->frames == 1)
      find_pieces(said->planes(), first, handle, stack);
    arrange(*said, stack);
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
    stack.stamps.push_back(file->opened());
    TiffHandle handle;
    handle.open(file, limits.block_bytes);
    const TiffPage page = handle.page(0);
    if (!first) first = page;
    require_same(*file, 0, page, *first);
    stack.part_bytes = std::max(stack.part_bytes, page.part_bytes);
    const auto said = description_of(handle, page, 1);
    if ((said && said->planes() > 1) || (handle.next() && !handle.is_extra()))
      file->fail("must have one page, as a slice of a folder, got more; open it by itself");
  }
  describe(*first, static_cast<std::int64_t>(stack.slices.size()), stack);
  return stack;
}

}  // namespace headrace::inline v1::detail
