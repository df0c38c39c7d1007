#pragma once

#include <headrace/engine/base/export.h>

#include <string>

namespace headrace::inline v1 {

/// Where memory lives and work runs.
struct Device {
  enum class Kind : unsigned char { cpu, cuda };

  Kind kind = Kind::cpu;
  int index = 0;  ///< among the devices that CUDA shows this process

  static constexpr Device cpu() noexcept { return {}; }
  static constexpr Device cuda(int index = 0) noexcept { return {Kind::cuda, index}; }
  bool is_cuda() const noexcept { return kind == Kind::cuda; }
  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu" or "cuda:0".
HEADRACE_API std::string to_string(Device device);

/// A stream of work on a device: the CUDA stream handle as a plain pointer (null is the default
/// stream; ignored on the CPU), so that no CUDA header is needed to name one. Not
/// cudaStreamPerThread, which names another stream on each thread.
struct Stream {
  void* handle = nullptr;
};

}  // namespace headrace::inline v1
