#include <headrace/apps/new/look_at_masks.h>
#include <headrace/apps/task/check_masks.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/mask_survey.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

using StoredColour = std::array<std::uint8_t, 3>;

constexpr std::size_t most_classes = 64;
constexpr std::int64_t noisy = 4;  // so many values about each of two are noise
constexpr int far_apart = 64;      // of two values, in noise
constexpr std::size_t most_named = 6;

[[noreturn]] void refuse(const std::string& name, const std::string& rule) {
  throw DataError(fmt::format("[data] {}: masks must hold {}", name, rule));
}

// Fills areas, as classes do.
bool is_solid(const MaskCount& count) {
  return 5 * count.inner >= count.pixels;
}

// Lies along edges, between what is on their sides.
bool is_shade(const MaskCount& count) {
  return !is_solid(count) && 2 * count.between >= count.pixels;
}

template <class Key>
using Counted = std::map<Key, MaskCount>;

template <class Key>
std::vector<Key> keys_that(const Counted<Key>& counted, bool (*fits)(const MaskCount&)) {
  std::vector<Key> keys;
  for (const auto& [key, count] : counted)
    if (fits(count)) keys.push_back(key);
  return keys;
}

template <class Key>
std::string names_of(const std::vector<Key>& keys) {
  const std::size_t named = std::min(keys.size(), most_named);
  return fmt::format(
      "{}{}", fmt::join(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      named < keys.size() ? ", ..." : "");
}

// Smoothed masks of several classes: a shade may be the value of another class.
template <class Key>
void refuse_shades(const std::string& name, const Counted<Key>& counted) {
  const std::vector<Key> shades = keys_that(counted, is_shade);
  if (shades.size() > keys_that(counted, is_solid).size())
    refuse(name,
           fmt::format(
               "one value or colour for each class, but {} of {} lie only along edges ({}), as "
               "smoothing, resizing and lossy files leave them; save the masks anew without "
               "(nearest neighbour, PNG), or write mask.classes by hand",
               shades.size(), counted.size(), names_of(shades)));
  if (counted.size() > most_classes)
    refuse(name, fmt::format("at most {} different values or colours, one for each class, got {}; "
                             "save them as PNG without smoothing",
                             most_classes, counted.size()));
}

std::string class_name(std::size_t number) {
  return number == 0 ? std::string("background") : fmt::format("class{}", number);
}

// Whether nearly all pixels are about the two: a photograph's are not.
bool are_about(const std::vector<std::uint16_t>& two, const Counted<std::uint16_t>& values) {
  std::int64_t pixels = 0;
  std::int64_t midway = 0;
  for (const auto& [value, count] : values) {
    pixels += count.pixels;
    if (4 * value > 3 * two[0] + two[1] && 4 * value < two[0] + 3 * two[1]) midway += count.pixels;
  }
  return 8 * midway <= pixels;
}

// The two classes of masks that hold shades or noise beside their values; empty: they do not.
std::vector<std::uint16_t> two_of(const Counted<std::uint16_t>& values) {
  if (values.size() < 3 || values.rbegin()->first > 255) return {};
  std::vector<std::uint16_t> two = keys_that(values, is_solid);
  if (two.size() > 2) return {};
  if (two.size() < 2) two = {values.begin()->first, values.rbegin()->first};
  const auto low = std::ranges::count_if(
      values, [&](const auto& one) { return 2 * one.first < two[0] + two[1]; });
  const auto high = std::ssize(values) - low;
  const bool noise = std::min(low, high) >= noisy && two[1] - two[0] >= far_apart;
  const bool shades = std::ranges::all_of(values, [&](const auto& one) {
    return one.first == two[0] || one.first == two[1] || is_shade(one.second);
  });
  return (noise || shades) && are_about(two, values) ? two : std::vector<std::uint16_t>{};
}

// Every value of a byte by the nearer of two; their own first, which predictions are written with.
MaskFacts nearest_of(const std::vector<std::uint16_t>& two, std::size_t found) {
  MaskFacts facts;
  for (std::size_t label = 0; label < 2; ++label) {
    MaskClass one{.name = class_name(label), .values = {two[label]}};
    for (int value = 0; value < 256; ++value)
      if ((2 * value > two[0] + two[1]) == (label == 1) && value != two[label])
        one.values.push_back(value);
    facts.settings.classes.push_back(std::move(one));
  }
  facts.lines.push_back(fmt::format(
      "masks hold {} and {}, and {} values more that fill no area, as smoothed edges and lossy "
      "files "
      "have them: each is taken for the nearer of the two; better save the masks anew without",
      two[0], two[1], found - 2));
  return facts;
}

MaskFacts facts_of(const std::string& name, const Counted<std::uint16_t>& values) {
  if (const auto two = two_of(values); !two.empty()) return nearest_of(two, values.size());
  refuse_shades(name, values);
  MaskFacts facts;
  std::vector<MaskClass>& classes = facts.settings.classes;
  for (const auto& [value, count] : values)
    classes.push_back({.name = class_name(classes.size()), .values = {value}});
  // Of many classes 255 is what nobody has marked.
  if (classes.size() > 2 && classes.back().values == std::vector<int>{255}) {
    classes.pop_back();
    facts.settings.ignore = {255};
  }
  return facts;
}

MaskFacts facts_of(const std::string& name, const Counted<StoredColour>& colours) {
  refuse_shades(name, colours);
  MaskFacts facts;
  for (const auto& [colour, count] : colours)
    facts.settings.classes.push_back({.name = class_name(facts.settings.classes.size()),
                                      .colours = {{colour[0], colour[1], colour[2]}}});
  return facts;
}

// Of all parts; what is grey in one and has colours in another is colours.
struct Found {
  Counted<std::uint16_t> values{};
  Counted<StoredColour> colours{};

  void take(const MaskSurvey& part, const std::string& name) {
    if (!part.values.empty() && !part.colours.empty())
      refuse(name,
             "one value a pixel, or one colour a pixel, the same in all files, got both; save them "
             "alike");
    for (const auto& [value, count] : part.values)
      values[value] += count;
    for (const auto& [colour, count] : part.colours)
      colours[colour] += count;
    if (colours.empty()) return;
    for (const auto& [value, count] : std::exchange(values, {})) {
      const auto grey = static_cast<std::uint8_t>(value);
      colours[StoredColour{grey, grey, grey}] += count;
    }
  }
};

// A few that cannot be read are bad records as others are.
MaskSurvey survey_of(const ImageSource& part, std::int64_t samples, int threads) {
  MaskSurvey survey = survey_masks(part, {.samples = samples, .threads = threads});
  const auto looked_at = static_cast<double>(survey.bad.size()) + static_cast<double>(survey.files);
  if (static_cast<double>(survey.bad.size()) <= BadSampleSettings().most_share * looked_at)
    return survey;
  const MaskSurvey::Bad& first = survey.bad.front();
  throw DataError(fmt::format(
      "[data] {}: masks must be files of exact values, {} of {} looked at are none that can be "
      "read, {} for one: {}; save such masks anew, of pictures their dark and bright parts as two "
      "values",
      part.name(), survey.bad.size(), survey.bad.size() + static_cast<std::size_t>(survey.files),
      part.origin(first.index), first.reason));
}

}  // namespace

MaskFacts look_at_masks(const std::vector<std::shared_ptr<const ImageSource>>& parts, int threads) {
  const std::string name = parts.front()->name();
  for (const std::int64_t samples : {std::int64_t{most_masks_looked_at}, std::int64_t{0}}) {
    Found all;
    for (const auto& part : parts)
      all.take(survey_of(*part, samples, threads), part->name());
    if (all.values.size() > 1) return facts_of(name, all.values);
    if (all.colours.size() > 1) return facts_of(name, all.colours);
    if (samples == 0)
      refuse(name,
             fmt::format("at least two values, a background and one for each class, got {} "
                         "alone in all of them; name the folder of the masks (--masks)",
                         all.colours.empty() ? fmt::format("{}", all.values.begin()->first)
                                             : fmt::format("{}", all.colours.begin()->first)));
  }
  return {};
}

}  // namespace headrace::inline v1::app
