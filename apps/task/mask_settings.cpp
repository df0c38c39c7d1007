#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

void describe(Fields& fields, MaskClass& one) {
  fields.key("name", one.name, {.doc = "of the class", .required = true});
  fields.key("values", one.values,
             {.doc = "that stand for it in the files, of a palette its indices; none: its place in "
                     "the list",
              .min = 0.0,
              .max = 65535.0});
  fields.key("colours", one.colours,
             {.doc = "[red, green, blue] that stand for it, where masks are in colour",
              .min = 0.0,
              .max = 255.0});
}

}  // namespace

void describe(Fields& fields, MaskSettings& mask) {
  fields.list_of<MaskClass>("classes", mask.classes,
                            [](Fields& f, MaskClass& one) { describe(f, one); },
                            {.doc = "of pixels, the background first: {name: cat, values: [255]}"});
  fields.key("ignore", mask.ignore,
             {.doc = "values of the files that count nowhere", .min = 0.0, .max = 65535.0});
  fields.key(
      "ignore_colours", mask.ignore_colours,
      {.doc = "colours that count nowhere, where masks are in colour", .min = 0.0, .max = 255.0});
}

void check(const MaskSettings& mask) {
  if (mask.classes.size() < 2 || mask.classes.size() > 254)
    throw ConfigError(
        fmt::format("[config] mask.classes must name 2 to 254 classes, the background first, got "
                    "{}; write {{name: background, values: [0]}} and one for each thing",
                    mask.classes.size()));
  std::set<std::string> names;
  std::map<int, std::string> owner;
  for (const int value : mask.ignore)
    owner.emplace(value, "ignore");
  std::size_t in_colour = 0;
  for (const MaskClass& one : mask.classes) {
    if (!names.insert(one.name).second)
      throw ConfigError(fmt::format(
          "[config] mask.classes: every class must have a name of its own, \"{}\" stands "
          "twice",
          one.name));
    in_colour += one.colours.empty() ? 0 : 1;
    for (const int value : one.values) {
      const auto [at, fresh] = owner.emplace(value, one.name);
      if (!fresh)
        throw ConfigError(fmt::format(
            "[config] mask.classes: value {} must stand for one class, got \"{}\" and \"{}\"",
            value, at->second, one.name));
    }
    if (!one.colours.empty() && !one.values.empty())
      throw ConfigError(fmt::format(
          "[config] mask.classes: \"{}\" must have values or colours, got both", one.name));
  }
  if (in_colour != 0 && in_colour != mask.classes.size())
    throw ConfigError(
        fmt::format("[config] mask.classes: colours must be given for all classes or for none, got "
                    "them for {} of {}",
                    in_colour, mask.classes.size()));
}

MaskFeed mask_feed(const MaskSettings& mask) {
  MaskFeed feed;
  MapMask map{.ignore_label = static_cast<std::uint8_t>(ignored_label)};
  int largest = 0;
  const auto add_colours = [&](const std::vector<std::array<int, 3>>& colours, std::size_t label) {
    for (const auto& [red, green, blue] : colours)
      feed.colours.push_back({.red = static_cast<std::uint8_t>(red),
                              .green = static_cast<std::uint8_t>(green),
                              .blue = static_cast<std::uint8_t>(blue),
                              .label = static_cast<std::uint16_t>(label)});
  };
  add_colours(mask.ignore_colours, ignored_label);
  for (std::size_t label = 0; label < mask.classes.size(); ++label) {
    const MaskClass& one = mask.classes[label];
    add_colours(one.colours, label);
    const std::vector<int> values =
        one.values.empty() ? std::vector<int>{static_cast<int>(label)} : one.values;
    for (const int value : values) {
      map.values.push_back(
          {.value = static_cast<std::uint16_t>(value), .label = static_cast<std::uint8_t>(label)});
      largest = std::max(largest, value);
    }
  }
  for (const int value : mask.ignore) {
    map.ignored.push_back(static_cast<std::uint16_t>(value));
    largest = std::max(largest, value);
  }
  if (feed.colours.empty()) {
    feed.map = map;
    if (largest > 255) feed.dtype = DType::uint16;
  }
  return feed;
}

MaskFormat mask_format(const MaskSettings& mask) {
  MaskFormat format;
  for (std::size_t label = 0; label < mask.classes.size(); ++label) {
    const MaskClass& one = mask.classes[label];
    if (!one.colours.empty()) {
      const auto& [red, green, blue] = one.colours.front();
      format.colours.push_back({static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
                                static_cast<std::uint8_t>(blue)});
      continue;
    }
    format.values.push_back(
        static_cast<std::uint16_t>(one.values.empty() ? label : one.values.front()));
  }
  return format;
}

std::vector<std::string> class_names(const MaskSettings& mask) {
  std::vector<std::string> names;
  for (const MaskClass& one : mask.classes)
    names.push_back(one.name);
  return names;
}

}  // namespace headrace::inline v1::app
