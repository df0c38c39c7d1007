#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/tiff/tiff_stack.h>
#include <headrace/loaders/volume/detail/voxel/flat_blocks.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// What ImageJ says of a stack in the description of a TIFF file's first page.
struct ImageJStack {
  std::int64_t images = 1;  ///< pages
  std::int64_t channels = 1, slices = 1, frames = 1;
  double spacing = 0.0;  ///< from slice to slice, in `unit`; 0: it does not say
  double unit = 1.0;     ///< in millimetres; 1 for units that are no lengths
};

double unit_of(std::string_view name) noexcept {
  constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"mm", 1.0},
                                                                       {"cm", 10.0},
                                                                       {"inch", 25.4},
                                                                       {"micron", 1e-3},
                                                                       {"microns", 1e-3},
                                                                       {"um", 1e-3},
                                                                       {"\\u00B5m", 1e-3},
                                                                       {"\xc2\xb5m", 1e-3},
                                                                       {"\xb5m", 1e-3},
                                                                       {"nm", 1e-6}}};
  const auto* known = std::ranges::find(units, name, &std::pair<std::string_view, double>::first);
  return known != units.end() ? known->second : 1.0;
}

template <class T>
void read_number(std::string_view text, T& to) noexcept {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && value > T{} && std::isfinite(static_cast<double>(value))) to = value;
}

void read_line(std::string_view key, std::string_view value, ImageJStack& stack) noexcept {
  if (key == "images") read_number(value, stack.images);
  if (key == "channels") read_number(value, stack.channels);
  if (key == "slices") read_number(value, stack.slices);
  if (key == "frames") read_number(value, stack.frames);
  if (key == "spacing") read_number(value, stack.spacing);
  if (key == "unit") stack.unit = unit_of(value);
}

/// Nothing unless the description is ImageJ's. Numbers that are none, or not above 0, count as
/// not said.
std::optional<ImageJStack> imagej_stack(std::string_view description) noexcept {
  if (!description.starts_with("ImageJ=")) return std::nullopt;
  ImageJStack stack;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find('\n'), description.size());
    const std::string_view line = description.substr(0, end);
    description.remove_prefix(std::min(end + 1, description.size()));
    const std::size_t sign = line.find('=');
    if (sign != std::string_view::npos)
      read_line(line.substr(0, sign), line.substr(sign + 1), stack);
  }
  return stack;
}

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
