#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <string>

namespace headrace::inline v1 {

/// Contrast-limited adaptive histogram equalisation (Zuiderveld, Graphics Gems IV, 1994; OpenCV's
/// CLAHE): of the lightness in CIE Lab for a picture uint8 [H, W, 3], of the levels for [H, W, 1].
/// The same bytes on every machine; of colours within 2 levels of OpenCV's, of grey equal to it.
struct HEADRACE_API Clahe {
  double clip_limit = 2.5;  ///< most times that a bin may hold its fair share; 0: no limit
  int tiles_high = 8;
  int tiles_wide = 8;
  std::string field = "image";

  std::string name() const { return "clahe"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures of
  /// 1 or 3 channels with at least 2 pixels a tile along each side.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
