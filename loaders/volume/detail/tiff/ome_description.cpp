#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/tiff/ome_description.h>
#include <headrace/loaders/volume/detail/voxel/length_unit.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1::detail {
namespace {

constexpr std::string_view blanks = " \t\r\n";

/// Cuts the next tag that opens an element off the text and gives what stands between its brackets;
/// empty at the end.
std::string_view next_tag(std::string_view& text) noexcept {
  for (;;) {
    text.remove_prefix(std::min(text.find('<'), text.size()));
    const std::string_view close = text.starts_with("<!--")        ? "-->"
                                   : text.starts_with("<![CDATA[") ? "]]>"
                                                                   : ">";
    const std::size_t end = text.find(close);
    if (end == std::string_view::npos) return text = {};
    const std::string_view tag = text.substr(1, end - 1);
    text.remove_prefix(end + close.size());
    if (!tag.empty() && std::string_view("/?!").find(tag.front()) == std::string_view::npos)
      return tag;
  }
}

/// The element's name without its namespace.
std::string_view name_of_tag(std::string_view tag) noexcept {
  tag = tag.substr(0, tag.find_first_of(" \t\r\n/"));
  return tag.substr(tag.find(':') + 1);
}

/// Empty where the tag has no such attribute.
std::string_view attribute(std::string_view tag, std::string_view name) noexcept {
  for (std::size_t at = tag.find(name, 1); at != std::string_view::npos;
       at = tag.find(name, at + 1)) {
    const std::string_view rest = tag.substr(at + name.size());
    if (blanks.find(tag[at - 1]) == std::string_view::npos || rest.size() < 2 || rest[0] != '=')
      continue;
    const std::string_view value = rest.substr(2);
    return value.substr(0, value.find(rest[1]));
  }
  return {};
}

std::int64_t whole_number(std::string_view tag, std::string_view name, std::int64_t least,
                          std::int64_t otherwise = -1) {
  const std::string_view text = attribute(tag, name);
  if (text.empty() && otherwise >= 0) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least &&
      value <= std::numeric_limits<std::int32_t>::max())
    return value;
  throw DataError("OME's " + std::string(name) + " must be a whole number from " +
                  std::to_string(least) + " on, got " + quoted(std::string(text)));
}

/// Micrometres where no unit is told.
double length_of(std::string_view pixels, const std::string& axis) noexcept {
  const std::string_view text = attribute(pixels, "PhysicalSize" + axis);
  const std::string_view unit = attribute(pixels, "PhysicalSize" + axis + "Unit");
  double value = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  const double length = value * (unit.empty() ? 1e-3 : millimetres_of(unit));
  return std::isfinite(length) && length > 0.0 ? length : 1.0;
}

/// Which page each plane is, as the TiffData say; each must be one page of this file.
void place_planes(const std::vector<std::string_view>& data, std::int64_t pages,
                  StackDescription& stack) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<bool> taken(static_cast<std::size_t>(pages));
  stack.pages.assign(taken.size(), none);
  for (const std::string_view tag : data) {
    const std::int64_t page = whole_number(tag, "IFD", 0, 0);
    const std::int64_t z = whole_number(tag, "FirstZ", 0, 0);
    const std::int64_t c = whole_number(tag, "FirstC", 0, 0);
    const std::int64_t count =
        whole_number(tag, "PlaneCount", 1, attribute(tag, "IFD").empty() ? pages : 1);
    const std::int64_t first = stack.slices_first ? c * stack.slices + z : z * stack.channels + c;
    const bool inside = z < stack.slices && c < stack.channels && first + count <= pages &&
                        page + count <= pages && whole_number(tag, "FirstT", 0, 0) == 0;
    for (std::int64_t i = 0; inside && i < count; ++i) {
      const auto to = static_cast<std::size_t>(first + i),
                 from = static_cast<std::size_t>(page + i);
      if (stack.pages[to] != none || taken[from]) break;
      stack.pages[to] = from;
      taken[from] = true;
    }
  }
  if (std::ranges::count(taken, false) == 0) return;
  throw DataError("OME's TiffData must give each of its " + std::to_string(pages) +
                  " pages a plane of its own, as where all planes lie in one file; convert the "
                  "files to one");
}

}  // namespace

bool is_ome_description(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of("\xef\xbb\xbf \t\r\n"), text.size()));
  return text.starts_with('<') && (text.find("<OME") != std::string_view::npos ||
                                   text.find(":OME") != std::string_view::npos);
}

StackDescription ome_description(std::string_view text, const StackFacts& facts) {
  std::string_view pixels;
  std::vector<std::string_view> data;
  std::size_t images = 0;
  for (std::string_view tag = next_tag(text); !tag.empty(); tag = next_tag(text)) {
    if (name_of_tag(tag) == "Pixels" && ++images == 1) pixels = tag;
    if (name_of_tag(tag) == "TiffData") data.push_back(tag);
  }
  if (images != 1) {
    throw DataError("OME-TIFF must describe one image, got " + std::to_string(images) +
                    (images == 0 ? "; its description lies in another file, convert them to one"
                                 : "; save each as a file of its own"));
  }
  const std::string_view order = attribute(pixels, "DimensionOrder");
  StackDescription stack{.channels = whole_number(pixels, "SizeC", 1),
                         .slices = whole_number(pixels, "SizeZ", 1),
                         .frames = whole_number(pixels, "SizeT", 1),
                         .slices_first = order.find('Z') < order.find('C')};
  if (order.find('Z') == std::string_view::npos || order.find('C') == std::string_view::npos)
    throw DataError("OME's DimensionOrder must be like XYCZT, got " + quoted(std::string(order)));
  stack.spacing = {length_of(pixels, "Z"), length_of(pixels, "Y"), length_of(pixels, "X")};
  if (!data.empty() && stack.frames == 1 && stack.planes() == facts.pages)
    place_planes(data, facts.pages, stack);
  return stack;
}

}  // namespace headrace::inline v1::detail
