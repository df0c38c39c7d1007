#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// What the loader will take, known before the first read.
struct HEADRACE_API MemoryForecast {
  struct Item {
    std::string name;
    std::size_t bytes = 0;
  };
  std::vector<Item> items;  ///< of the host
  /// Of the device: twins of slabs, what batch operations make, and what work that samples leave to
  /// it takes.
  std::size_t device_bytes = 0;
  std::size_t total() const noexcept;
};

}  // namespace headrace::inline v1
