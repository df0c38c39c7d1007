#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headrace::inline v1::detail {

/// Labels are smaller.
inline constexpr std::int32_t most_labels = 1'000'000;

/// Names, numbered as they are first seen and then anew in their order.
class LabelNames {
 public:
  std::int32_t number(std::string_view name);
  std::size_t size() const noexcept { return numbers_.size(); }

  /// The names in order (bytes); `values` are changed to their places in it.
  std::vector<std::string> settle(std::vector<std::int32_t>& values) const;

  /// The same where the names may be whole numbers below most_labels: if all are, they are the
  /// labels themselves, and the classes all numbers up to the largest.
  std::vector<std::string> settle_classes(std::vector<std::int32_t>& values) const;

  /// A name below 0, where all are whole numbers.
  std::optional<std::string> below_zero() const;

 private:
  std::vector<std::int32_t> whole_numbers() const;

  std::unordered_map<std::string, std::int32_t> numbers_;
};

}  // namespace headrace::inline v1::detail
