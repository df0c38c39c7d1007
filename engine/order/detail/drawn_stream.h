#pragma once

#include <headrace/engine/base/internal/mix.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/order/detail/pass_stream.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// Throws ConfigError unless there is one value for each record, and fewer than 2^32.
inline void check_one_each(const std::string& who, const std::string& what, std::size_t values,
                           std::int64_t records) {
  if (values != static_cast<std::size_t>(records)) {
    throw ConfigError("[order] " + who + " needs one of " + what + " for each record: got " +
                      std::to_string(values) + " for " + std::to_string(records) + " records");
  }
  if (values > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError("[order] " + who + " takes fewer than 2^32 records, got " +
                      std::to_string(records));
  }
}

/// An order that draws with replacement: each place has 128 random bits of its own, a Philox block
/// with key (seed, epoch) and counter (place).
class DrawnStream : public IndexStream {
 public:
  DrawnStream(std::uint64_t seed, std::int64_t records, std::int64_t epoch_size)
      : seed_(seed), records_(records), length_(epoch_size > 0 ? epoch_size : records) {}

  std::int64_t length() const noexcept final { return length_; }
  bool exactly_once() const noexcept final { return false; }
  std::uint64_t seed() const noexcept final { return seed_; }

  void indices(std::int64_t epoch, std::int64_t first, std::span<std::int64_t> out) const final {
    const std::uint64_t mixed = mix64(mix64(seed_) ^ static_cast<std::uint64_t>(epoch));
    const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(mixed),
                                           static_cast<std::uint32_t>(mixed >> 32)};
    auto place = static_cast<std::uint64_t>(first);
    for (std::int64_t& value : out) {
      const auto bits = philox4x32_10(
          {static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32), 0, 0}, key);
      value = index(bits[0] | std::uint64_t{bits[1]} << 32, bits[2] | std::uint64_t{bits[3]} << 32);
      ++place;
    }
  }

 protected:
  /// The record that two uniform numbers stand for.
  virtual std::int64_t index(std::uint64_t first, std::uint64_t second) const noexcept = 0;

  std::int64_t records() const noexcept { return records_; }

 private:
  std::uint64_t seed_;
  std::int64_t records_;
  std::int64_t length_;
};

}  // namespace headrace::inline v1::detail
