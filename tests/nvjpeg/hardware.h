#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_library.h>

#include "decoding.h"

namespace headrace::test {

inline bool device_present() {
  try {
    headrace::detail::require_device(gpu, "test");
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

inline bool nvjpeg_present() {
  return headrace::detail::open_nvjpeg(headrace::detail::nvjpeg_places()).is_open;
}

}  // namespace headrace::test
