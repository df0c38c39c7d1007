#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/pictures.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A class of pixels and what stands for it in mask files.
struct MaskClass {
  std::string name{};
  std::vector<int> values{};                  ///< stored values, of a palette its indices
  std::vector<std::array<int, 3>> colours{};  ///< of masks in red, green and blue
};

/// The section `mask`: what the pixels of mask files mean.
struct MaskSettings {
  std::vector<MaskClass>
      classes{};              ///< in the order of the network's scores; the first is the background
  std::vector<int> ignore{};  ///< stored values that count nowhere
  std::vector<std::array<int, 3>> ignore_colours{};  ///< the same of masks in colour
};

/// Label of a pixel that counts nowhere, behind the map.
inline constexpr std::int64_t ignored_label = 255;

/// Its keys.
void describe(Fields& fields, MaskSettings& mask);

/// Throws ConfigError for fewer than two classes, a name or value that stands twice, and values
/// beside colours.
void check(const MaskSettings& mask);

/// How mask files are read by it: labels are places in the list.
MaskFeed mask_feed(const MaskSettings& mask);

/// What stands for each class in mask files that are written: values, or where masks are in colour
/// colours. What reads masks by the same settings reads them back.
struct MaskFormat {
  std::vector<std::uint16_t> values{};
  std::vector<std::array<std::uint8_t, 3>> colours{};
};

/// Of several values or colours of a class the first.
MaskFormat mask_format(const MaskSettings& mask);

/// Their names.
std::vector<std::string> class_names(const MaskSettings& mask);

}  // namespace headrace::inline v1::app
