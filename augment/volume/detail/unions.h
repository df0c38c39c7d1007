#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace headrace::inline v1::detail {

/// Sets that are named by their least member (union-find with path halving).
class Unions {
 public:
  /// As many sets of one member each as `memory` holds, which stays the caller's.
  explicit Unions(std::span<std::int32_t> memory) : parent_(memory) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::int32_t find(std::int32_t member) {
    auto at = static_cast<std::size_t>(member);
    while (parent_[at] != static_cast<std::int32_t>(at)) {
      parent_[at] = parent_[static_cast<std::size_t>(parent_[at])];
      at = static_cast<std::size_t>(parent_[at]);
    }
    return static_cast<std::int32_t>(at);
  }
  void join(std::int32_t a, std::int32_t b) {
    a = find(a), b = find(b);
    if (a != b) parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  /// Replaces each member's name by its set's number: 0 for the set of member 0, then upwards in
  /// the order of the least members. Gives the largest; after it find() and join() mean nothing.
  std::int32_t number() {
    std::int32_t largest = -1;
    for (std::size_t i = 0; i < parent_.size(); ++i) {
      const auto named = static_cast<std::size_t>(parent_[i]);
      parent_[i] = named == i ? ++largest : parent_[named];
    }
    return largest;
  }

 private:
  std::span<std::int32_t> parent_;
};

}  // namespace headrace::inline v1::detail
