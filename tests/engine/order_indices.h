#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::test {

/// The records of an order, one a place.
using Indices = std::vector<std::int64_t>;

inline std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace headrace::test
