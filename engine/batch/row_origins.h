#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/origin.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace headrace::inline v1 {

class IndexStream;
class Source;

/// Where the rows of a batch came from, without its memory: may be kept when the loan has ended.
class HEADRACE_API RowOrigins {
 public:
  /// One for each row, file names included; computed when asked for.
  std::vector<Origin> list() const;

 private:
  friend class Batch;

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const IndexStream> order_;
  std::vector<std::pair<std::int64_t, std::int64_t>> replaced_;  // row, index of its replacement
  std::int64_t epoch_ = 0;
  std::int64_t batch_ = 0;
  std::int64_t position_ = 0;  // of the first row
  std::int64_t first_ = 0;     // row of the batch
  std::int64_t present_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace headrace::inline v1
