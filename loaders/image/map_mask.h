#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// A value of a mask as its file stores it, and the class that it stands for.
struct MaskValue {
  std::uint16_t value = 0;
  std::uint8_t label = 0;
};

/// Turns the stored values of a mask (engine/sample/mask.h), uint8 or uint16 [height, width], into
/// class numbers, uint8 [height, width]: 0 and 255 into 0 and 1, say. Belongs right behind the
/// decoder, for what operations put outside of a picture are classes. A value that is not in the
/// map is a DataError that names it, how many pixels have it, and the nearest one in the map.
struct HEADRACE_API MapMask {
  std::vector<MaskValue> values{};
  std::vector<std::uint16_t> ignored{};  ///< values that become `ignore_label`
  std::uint8_t ignore_label = 255;
  std::string mask = "mask";

  std::string name() const { return "map_mask"; }
  /// Throws ConfigError for a map that is empty, has a value twice or one that the mask cannot
  /// hold, and where the field is no mask.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
