#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

/// nvJPEG for tests on machines without a device: a shared library of its name that decodes with
/// libjpeg-turbo into the memory of the CUDA runtime's stand-in, late and in the order of the
/// stream. As the real one it is lenient with damaged scans.
namespace headrace::test::nvjpeg {

struct Behaviour {
  bool engines = true;  ///< whether the device has JPEG engines
  bool kernels = true;  ///< whether it decodes in kernels, without engines
  std::array<int, 3> version = {13, 4, 1};
  int delay_us = 0;       ///< before each picture of a batch is decoded
  int refused_width = 0;  ///< of pictures: a batch with one of them is not taken
  bool marks = false;     ///< turns every byte that it decodes round
  /// Answers `status` to calls of the function of that name from the `from`-th on, `times` times.
  std::string failing = {};
  int status = 0;
  std::int64_t from = 0;
  std::int64_t times = 1;
};

struct Calls {
  std::int64_t decodes = 0;          ///< pictures of batches that were taken
  std::int64_t batches = 0;          ///< that were taken
  std::int64_t overlaps = 0;         ///< of which the state was still at work
  std::int64_t initialisations = 0;  ///< of a batch
  std::int64_t handles = 0;          ///< made
  std::int64_t live_handles = 0;
  std::int64_t live_states = 0;
  std::int64_t live_headers = 0;
  int backend = -1;  ///< of the handle made last
  unsigned flags = 0;
};

/// How work is put on a stream; to be set before any decode.
using Queue = std::function<void(void* stream, std::function<void()> work)>;

/// Sets the behaviour and clears all counts but those of what is live.
void reset(Queue queue, Behaviour behaviour = {});
Calls calls();

}  // namespace headrace::test::nvjpeg
