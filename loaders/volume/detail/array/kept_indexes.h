#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace headrace::inline v1::detail {

inline constexpr std::size_t most_index_bytes = std::size_t{64} << 20;  ///< that a volume keeps

/// Indexes of parts of a file, each read once and kept until others need the memory. Thread-safe.
class KeptIndexes {
 public:
  using Index = std::vector<std::uint64_t>;
  using Shared = std::shared_ptr<const Index>;

  explicit KeptIndexes(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// The index of a part; `read` makes it, in a thread of several if need be.
  Shared get(std::uint64_t part, const std::function<Index()>& read);

  std::size_t most_bytes() const noexcept { return most_bytes_; }

 private:
  std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, Shared> kept_;
  std::deque<std::uint64_t> age_;  // the eldest first
};

}  // namespace headrace::inline v1::detail
