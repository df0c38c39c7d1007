#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Gives spectrograms [..., bins, frames] of any number type one number of frames: of longer ones a
/// window, shorter ones are padded behind. One copy.
struct HEADRACE_API FrameWindow {
  std::int64_t frames = 0;  ///< of every sample
  bool random = true;       ///< where the window lies; else in the middle
  double fill = 0.0;        ///< of padded frames; for integers the nearest one that they hold
  std::string field = "spectrogram";

  std::string name() const { return "frame window"; }
  /// Throws ConfigError for less than one frame and a field that is no spectrogram.
  Schema schema(const Schema& in) const;
  /// Throws DataError for a sample that is no spectrogram.
  void operator()(Sample& sample, Random& draws) const;
};

}  // namespace headrace::inline v1
