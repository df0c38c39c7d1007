#pragma once

#include <cstdint>
#include <functional>
#include <string>

/// nvJPEG for tests on machines without a device: a shared library of its name that decodes with
/// libjpeg-turbo into the memory of the CUDA runtime's stand-in, late and in the order of the
/// stream. As the real one it is lenient with damaged scans.
namespace headrace::test::nvjpeg {

struct Behaviour {
  bool engines = true;  ///< whether the device has JPEG engines
  /// Answers `status` to calls of the function of that name from the `from`-th on, `times` times.
  std::string failing = {};
  int status = 0;
  std::int64_t from = 0;
  std::int64_t times = 1;
};

struct Calls {
  std::int64_t decodes = 0;          ///< successful
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
