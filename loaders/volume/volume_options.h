#pragma once

#include <headrace/loaders/volume/volume_limits.h>

#include <string>

namespace headrace::inline v1 {

/// How a volume is opened.
struct VolumeOptions {
  /// In files that hold several: "/raw". Empty: the only one.
  std::string dataset{};
  VolumeLimits limits{};
};

}  // namespace headrace::inline v1
