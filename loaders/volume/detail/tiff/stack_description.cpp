#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/tiff/ome_description.h>
#include <headrace/loaders/volume/detail/tiff/stack_description.h>
#include <headrace/loaders/volume/detail/voxel/length_unit.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

template <class T>
void read_number(std::string_view text, T& to) noexcept {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && value > T{} && std::isfinite(static_cast<double>(value))) to = value;
}

/// Numbers as ImageJ says them; 0: not said.
struct ImageJNumbers {
  std::int64_t images = 0, channels = 0, slices = 0, frames = 0;
  double spacing = 0.0;                       // from slice to slice
  std::array<double, 3> unit{1.0, 1.0, 1.0};  // millimetres along z, y, x
};

void read_line(std::string_view key, std::string_view value, ImageJNumbers& said) noexcept {
  const auto unit = [&] {
    const double length = millimetres_of(value);
    return length > 0.0 ? length : 1.0;
  };
  if (key == "images") read_number(value, said.images);
  if (key == "channels") read_number(value, said.channels);
  if (key == "slices") read_number(value, said.slices);
  if (key == "frames") read_number(value, said.frames);
  if (key == "spacing") read_number(value, said.spacing);
  if (key == "unit") said.unit.fill(unit());
  if (key == "yunit") said.unit[1] = unit();
  if (key == "zunit") said.unit[0] = unit();
}

/// Numbers that are none, or not above 0, count as not said. Slices that are not said are what is
/// left of the images.
StackDescription of_imagej(std::string_view text, const StackFacts& facts) {
  ImageJNumbers said;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t sign = line.find('=');
    if (sign != std::string_view::npos)
      read_line(line.substr(0, sign), line.substr(sign + 1), said);
  }
  StackDescription stack{.channels = std::max<std::int64_t>(said.channels, 1),
                         .frames = std::max<std::int64_t>(said.frames, 1)};
  const std::int64_t images = said.images > 0 ? said.images : facts.pages;
  const std::int64_t together = stack.planes();
  stack.slices = said.slices > 0 ? said.slices : std::max<std::int64_t>(images / together, 1);
  if (said.images > 0 && stack.planes() != images) {
    throw DataError("says that it has " + std::to_string(images) +
                    " images, but its channels, slices and frames are " +
                    std::to_string(stack.planes()) + "; save it anew with ImageJ");
  }
  stack.in_one_piece = said.images > 1 && facts.pages == 1;
  const std::array<double, 3> steps{said.spacing, 1.0 / facts.resolution[0],
                                    1.0 / facts.resolution[1]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double length = steps[axis] * said.unit[axis];
    if (std::isfinite(length) && length > 0.0) stack.spacing[axis] = length;
  }
  return stack;
}

/// The axes of tifffile's shape that are no page's, those of one element left out: their letters
/// (0 where not told) and extents, the slowest first.
std::vector<std::pair<char, std::int64_t>> axes_of_pages(const nlohmann::json& json,
                                                         const StackFacts& facts) {
  const std::vector<std::int64_t> shape = whole_numbers(member(json, "shape"), "shape", 1, 1, 16);
  const nlohmann::json& letters = member(json, "axes");
  const std::string named = letters.is_string() ? letters.get<std::string>() : std::string();
  std::vector<std::pair<char, std::int64_t>> axes;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) axes.emplace_back(named.size() == shape.size() ? named[i] : '\0', shape[i]);
  for (const std::int64_t side : {facts.width, facts.height}) {
    if (side == 1) continue;
    if (axes.empty() || axes.back().second != side) {
      throw DataError("its \"shape\", " + shown(member(json, "shape")) +
                      ", must end with the pages' " + std::to_string(facts.height) + " x " +
                      std::to_string(facts.width) + "; save it anew");
    }
    axes.pop_back();
  }
  return axes;
}

/// Axes without letters are z and, before it, channels, as of all arrays.
StackDescription of_tifffile(const nlohmann::json& json, const StackFacts& facts) {
  StackDescription stack;
  const auto axes = axes_of_pages(json, facts);
  bool z_is_taken = std::ranges::count(axes, 'Z', &std::pair<char, std::int64_t>::first) > 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto [letter, extent] = axes[i];
    const bool z = letter == 'Z' || (letter != 'C' && letter != 'T' && !z_is_taken);
    std::int64_t& to = z ? stack.slices : letter == 'T' ? stack.frames : stack.channels;
    const bool known = z || letter == 'C' || letter == 'T' || letter == '\0';
    if (to > 1 || !known) {
      throw DataError("must have axes channel, z, y, x, got \"shape\" " +
                      shown(member(json, "shape")) + "; write a file for each volume");
    }
    if (z) stack.slices_first = stack.channels == 1;
    z_is_taken = z_is_taken || z;
    to = extent;
  }
  const nlohmann::json& truncated = member(json, "truncated");
  stack.in_one_piece = facts.pages == 1 && truncated.is_boolean() && truncated.get<bool>();
  // Series of one page each, as a writer makes them that is given slice after slice.
  if (stack.planes() == 1) stack.slices = facts.pages;
  return stack;
}

}  // namespace

std::int64_t StackDescription::planes() const noexcept {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(channels, slices, &product) ||
      __builtin_mul_overflow(product, frames, &product))
    return std::numeric_limits<std::int64_t>::max();
  return product;
}

std::optional<StackDescription> stack_description(std::string_view text, const StackFacts& facts) {
  if (text.starts_with("ImageJ=")) return of_imagej(text, facts);
  if (is_ome_description(text)) return ome_description(text, facts);
  if (!text.starts_with('{') || text.find("\"shape\":") == std::string_view::npos)
    return std::nullopt;
  const nlohmann::json json = read_json(text);
  if (!member(json, "shape").is_array()) return std::nullopt;
  return of_tifffile(json, facts);
}

}  // namespace headrace::inline v1::detail
