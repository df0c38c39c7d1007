#pragma once

#include <cstdint>

/// The library that is loaded before all others and lets one call of the system fail: the k-th one
/// of its group. A program finds these functions with dlsym; without the library they are not
/// there.
namespace headrace::test {

/// Calls that count together.
enum class FaultCall : int {
  open,    ///< open, openat
  read,    ///< read
  pread,   ///< pread, preadv
  pwrite,  ///< pwrite
  close,   ///< close: the descriptor is closed, the caller is told otherwise
  memory,  ///< malloc and its kin, and with them operator new
  map,     ///< mmap
  thread,  ///< pthread_create
};

/// In place of an errno: read, pread and pwrite do half of what was asked for.
inline constexpr int short_read = -1;
/// In place of an errno: read and pread find the end of the file.
inline constexpr int early_end = -2;

struct Fault {
  FaultCall call = FaultCall::open;
  std::int64_t first = 1;  ///< the first call that fails, counted from arming
  std::int64_t times = 1;  ///< how many calls in a row fail
  int error = 0;           ///< errno, short_read or early_end
};

/// What was seen since arming.
struct FaultCount {
  std::int64_t calls = 0;
  std::int64_t failed = 0;
};

extern "C" {
using ArmFault = void(const Fault* fault);
using DisarmFault = FaultCount();
/// Calls of this thread neither count nor fail while the sum of its changes is positive.
using SpareThread = void(int change);
}
inline constexpr const char* arm_symbol = "headrace_arm_fault";
inline constexpr const char* disarm_symbol = "headrace_disarm_fault";
inline constexpr const char* spare_symbol = "headrace_spare_thread";

}  // namespace headrace::test
