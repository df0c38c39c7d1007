#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Where a sample comes from and where it goes.
struct Origin {
  std::int64_t index = -1;     ///< record in the source
  std::int64_t part = 0;       ///< which sample of the record, where one record gives several
  std::int64_t epoch = 0;      ///< epoch of the order
  std::int64_t position = -1;  ///< place in the epoch's global order, all ranks counted
  std::int64_t batch = -1;     ///< number of the batch in the epoch
  std::int64_t row = -1;       ///< row in the batch
  std::string file{};  ///< file and place inside it; filled when asked for or when something failed
};

/// "sample 48213 (epoch 3, position 17, cat/0192.jpg)".
HEADRACE_API std::string to_string(const Origin& origin);

}  // namespace headrace::inline v1
