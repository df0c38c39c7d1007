#pragma once

#include <headrace/engine/base/internal/home_process.h>

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
  struct Kept {
    std::mutex mutex;
    std::size_t bytes = 0;
    std::unordered_map<std::uint64_t, Shared> indexes;
    std::deque<std::uint64_t> age;  ///< the eldest first
  };

  std::size_t most_bytes_;
  PerProcess<Kept> kept_;
};

}  // namespace headrace::inline v1::detail
