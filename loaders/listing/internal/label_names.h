#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Labels are smaller.
inline constexpr std::int32_t most_labels = 1'000'000;

/// Bytes of a name of a class or group.
inline constexpr std::size_t longest_name = 4096;

/// Names, numbered as they are first seen and then anew in their order.
class LabelNames {
 public:
  std::int32_t number(std::string_view name);
  std::size_t size() const noexcept { return numbers_.size(); }
  std::size_t memory() const noexcept { return memory_; }

  /// The names in order (bytes); `values` are changed to their places in it.
  std::vector<std::string> settle(std::vector<std::int32_t>& values) const;

  /// The same where the names may be whole numbers below most_labels: if all are, they are the
  /// labels themselves, and the classes all numbers up to the largest.
  std::vector<std::string> settle_classes(std::vector<std::int32_t>& values) const;

  /// A name below 0, where all are whole numbers.
  std::optional<std::string> below_zero() const;

  /// Two names of one number, "007" and "7", where all are whole numbers.
  std::optional<std::pair<std::string, std::string>> written_twice() const;

 private:
  std::vector<std::int32_t> whole_numbers() const;

  std::unordered_map<std::string, std::int32_t> numbers_;
  std::size_t memory_ = 0;  // about
};

}  // namespace headrace::inline v1::detail
