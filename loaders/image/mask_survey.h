#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/image_source.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// In how much of the masks a value or colour occurs.
struct MaskCount {
  std::int64_t files = 0;
  std::int64_t pixels = 0;
  std::int64_t inner = 0;    ///< of them: all eight neighbours are of the same
  std::int64_t between = 0;  ///< one neighbour is lower, another higher, in one channel of a colour

  HEADRACE_API MaskCount& operator+=(const MaskCount& more);
  friend bool operator==(const MaskCount&, const MaskCount&) = default;
};

/// What masks hold: enough to choose the map of MapMask or the colours of DecodeImage.
struct MaskSurvey {
  struct Bad {
    std::int64_t index = 0;
    std::string reason;
  };

  std::int64_t files = 0;  ///< that were read and are not bad
  /// Of files that store one value a pixel (grey, palette indices, grey stored as colour).
  std::map<std::uint16_t, MaskCount> values;
  /// Red, green and blue of files in colour: all of these, also what is grey in them, as soon as
  /// one has a colour.
  std::map<std::array<std::uint8_t, 3>, MaskCount> colours;
  bool complete = true;  ///< false: there were more different ones than are counted
  std::vector<Bad> bad;  ///< in the order of the records
};

struct MaskSurveyOptions {
  std::int64_t samples = 200;     ///< records that are read, evenly spaced; 0: all
  std::size_t most_values = 256;  ///< different values or colours that are counted
  int threads = 1;
};

/// Reads and decodes masks whole. Any thread. Throws ConfigError where the source has no masks.
HEADRACE_API MaskSurvey survey_masks(const ImageSource& source,
                                     const MaskSurveyOptions& options = {});

}  // namespace headrace::inline v1
