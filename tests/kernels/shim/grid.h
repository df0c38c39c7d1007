#pragma once

#include <cstdint>
#include <limits>

namespace headrace::test::kernels {

/// In which order the threads of a block run between two barriers, and its blocks. A kernel that
/// lacks a barrier gives other bytes for one of them.
enum class Order : unsigned char { forward, backward, shuffled };

/// How kernels that are launched from now on run.
struct Schedule {
  Order order = Order::forward;
  unsigned seed = 0;  ///< of the shuffles
  /// Only blocks of these numbers run, x fastest: part of a grid that would take days.
  std::uint64_t first_block = 0;
  std::uint64_t last_block = std::numeric_limits<std::uint64_t>::max();
};

void use(const Schedule& schedule);
/// Kernels launched so far, and the blocks of the last one.
std::int64_t launches();
std::uint64_t blocks_of_last_launch();

}  // namespace headrace::test::kernels
