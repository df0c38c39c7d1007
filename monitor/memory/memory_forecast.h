#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/memory/process_memory.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// One part of the memory a run will hold.
struct ForecastItem {
  std::string name{};  ///< "slabs"
  std::uint64_t bytes = 0;
  std::string how{};  ///< how it was reckoned: "9 x 5.2 MiB"; may be empty
};

/// The sum of what a run will hold, made before the first read. Not thread-safe.
class HEADRACE_API MemoryForecast {
 public:
  void add(std::string name, std::uint64_t bytes, std::string how = {});

  const std::vector<ForecastItem>& items() const { return items_; }
  /// Bytes; at the type's limit if the sum is larger.
  std::uint64_t total() const;
  bool fits(std::uint64_t limit) const { return total() <= limit; }

  /// The sum as aligned lines: items, a rule, the total, the limit and who set it, and what is left
  /// or missing.
  std::string table(const MemoryLimit& limit) const;

  /// The same in a line without a line end, its two largest items named:
  /// "memory 1.90 GiB of 10.0 GiB (machine): data in memory 1.20 GiB, activations 400 MiB, 5 more"
  std::string line(const MemoryLimit& limit) const;

  /// Throws ResourceError with the table if the total is above the limit.
  void require(const MemoryLimit& limit) const;

 private:
  std::vector<ForecastItem> items_{};
};

}  // namespace headrace::inline v1::monitor
