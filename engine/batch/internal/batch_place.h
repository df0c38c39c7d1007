#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// What a batch is in its epoch, known when it is admitted.
struct BatchPlace {
  std::int64_t number = 0;
  std::int64_t epoch = 0;
  std::int64_t first = 0;  ///< global position of row 0
  std::int64_t rows = 0;   ///< rows that hold samples
  std::int64_t size = 0;   ///< rows of the batch
  std::int64_t after = 0;  ///< global position after the batch, all ranks counted
};

}  // namespace headrace::inline v1::detail
