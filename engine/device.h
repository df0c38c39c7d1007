#pragma once

#include <string>

#include <headrace/engine/export.h>

namespace headrace::inline v1 {

/// Where memory lives and work runs.
struct Device {
  enum class Kind : unsigned char { cpu, cuda };

  Kind kind = Kind::cpu;
  int index = 0;

  static constexpr Device cpu() noexcept { return {}; }
  static constexpr Device cuda(int index = 0) noexcept { return {Kind::cuda, index}; }
  bool is_cuda() const noexcept { return kind == Kind::cuda; }
  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu" or "cuda:0".
HEADRACE_API std::string to_string(Device device);

/// The CUDA runtime that devices are used through, for logs: its file and who chose it, as in
/// "/opt/lib/libcudart.so.13 (loaded already)". Loads the device module. Throws DeviceError where
/// there is none.
HEADRACE_API std::string device_runtime();

/// A stream of work on a device: the CUDA stream handle as a plain pointer (null is the default
/// stream; ignored on the CPU), so that no CUDA header is needed to name one.
struct Stream {
  void* handle = nullptr;
};

}  // namespace headrace::inline v1
