#pragma once

#include <headrace/tests/transfer/cuda_stand_in.h>

#include "nvjpeg_stand_in.h"

#include <utility>

namespace headrace::test {

/// A machine with devices that behave so.
inline void begin(nvjpeg::Behaviour behaviour = {}, device::Behaviour of_device = {.devices = 1}) {
  device::reset(of_device);
  nvjpeg::reset(
      [](void* stream, std::function<void()> work) { device::run_on({stream}, std::move(work)); },
      std::move(behaviour));
}

}  // namespace headrace::test
