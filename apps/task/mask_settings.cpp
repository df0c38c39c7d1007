#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>

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

std::vector<std::string> class_names(const MaskSettings& mask) {
  std::vector<std::string> names;
  for (const MaskClass& one : mask.classes)
    names.push_back(one.name);
  return names;
}

}  // namespace headrace::inline v1::app
