#pragma once

#include <cstdint>

namespace headrace::inline v1 {

/// A place in a stream of samples: all that is needed to go on there, on any number of threads and
/// ranks and with any batch size. About 100 bytes as text.
struct Position {
  std::uint64_t seed = 0;  ///< of the order
  std::int64_t epoch = 0;
  std::int64_t position = 0;  ///< samples of the epoch that are done, all ranks counted
  int order_version = 1;

  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace headrace::inline v1
