#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/order/order.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// Throws ConfigError unless an order can be bound to so many records.
inline void check_order(const std::string& who, std::int64_t records, std::int64_t epoch_size) {
  if (records < 1) {
    throw ConfigError("[order] " + who + " needs at least one record, the source has " +
                      std::to_string(records));
  }
  if (epoch_size < 0) {
    throw ConfigError("[order] " + who + ": epoch_size is at least 0 (0: every record), got " +
                      std::to_string(epoch_size));
  }
}

/// ", 2000 samples an epoch" where that is not the number of records.
inline std::string describe_length(std::int64_t records, std::int64_t length) {
  const std::string text = " of " + std::to_string(records) + " records";
  return length == records ? text : text + ", " + std::to_string(length) + " samples an epoch";
}

/// An order in which every pass over the records shows each of them once; an epoch is a part of a
/// pass or several passes, each with an arrangement of its own.
class PassStream : public IndexStream {
 public:
  PassStream(std::int64_t records, std::int64_t epoch_size)
      : records_(records), length_(epoch_size > 0 ? epoch_size : records) {}

  std::int64_t length() const noexcept final { return length_; }
  bool exactly_once() const noexcept final { return true; }

  void indices(std::int64_t epoch, std::int64_t first, std::span<std::int64_t> out) const final {
    while (!out.empty()) {
      const std::int64_t place = first % records_;
      const auto count = std::min(out.size(), static_cast<std::size_t>(records_ - place));
      fill({epoch, first / records_}, place, out.first(count));
      first += static_cast<std::int64_t>(count);
      out = out.subspan(count);
    }
  }

 protected:
  struct Pass {
    std::int64_t epoch;
    std::int64_t number;
  };

  /// Indices of the places [first, first + out.size()) of a pass; they never reach beyond it.
  virtual void fill(Pass pass, std::int64_t first, std::span<std::int64_t> out) const = 0;

  std::int64_t records() const noexcept { return records_; }

 private:
  std::int64_t records_;
  std::int64_t length_;
};

}  // namespace headrace::inline v1::detail
