#include <headrace/loaders/listing/internal/label_names.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <system_error>
#include <utility>

namespace headrace::inline v1::detail {

std::int32_t LabelNames::number(std::string_view name) {
  const auto [at, fresh] =
      numbers_.try_emplace(std::string(name), static_cast<std::int32_t>(numbers_.size()));
  // A node of the table, and its place in it.
  if (fresh) memory_ += sizeof(std::pair<std::string, std::int32_t>) + 32 + name.size();
  return at->second;
}

std::vector<std::string> LabelNames::settle(std::vector<std::int32_t>& values) const {
  std::vector<std::string> names(numbers_.size());
  for (const auto& [name, number] : numbers_)
    names[static_cast<std::size_t>(number)] = name;
  std::vector<std::int32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&names](std::int32_t a, std::int32_t b) {
    return names[static_cast<std::size_t>(a)] < names[static_cast<std::size_t>(b)];
  });
  std::vector<std::int32_t> place(names.size());
  std::vector<std::string> sorted;
  for (const std::int32_t old : order) {
    place[static_cast<std::size_t>(old)] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(names[static_cast<std::size_t>(old)]);
  }
  for (std::int32_t& value : values)
    value = place[static_cast<std::size_t>(value)];
  return sorted;
}

std::vector<std::string> LabelNames::settle_classes(std::vector<std::int32_t>& values) const {
  const std::vector<std::int32_t> numbers = whole_numbers();
  if (numbers.empty()) return settle(values);
  for (std::int32_t& value : values)
    value = numbers[static_cast<std::size_t>(value)];
  const std::int32_t largest = *std::max_element(numbers.begin(), numbers.end());
  std::vector<std::string> classes;
  for (std::int32_t label = 0; label <= largest; ++label)
    classes.push_back(std::to_string(label));
  return classes;
}

std::optional<std::string> LabelNames::below_zero() const {
  std::optional<std::string> found;
  for (const auto& [name, number] : numbers_) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    if (value < 0 && (!found || name < *found)) found = name;
  }
  return found;
}

std::optional<std::pair<std::string, std::string>> LabelNames::written_twice() const {
  const std::vector<std::int32_t> numbers = whole_numbers();
  if (numbers.empty()) return std::nullopt;
  std::unordered_map<std::int32_t, const std::string*> seen;
  for (const auto& [name, number] : numbers_) {
    const auto [at, fresh] = seen.try_emplace(numbers[static_cast<std::size_t>(number)], &name);
    if (!fresh) return std::minmax(*at->second, name);
  }
  return std::nullopt;
}

/// The number that each name is written as, by first-seen number; empty where one is none.
std::vector<std::int32_t> LabelNames::whole_numbers() const {
  std::vector<std::int32_t> values(numbers_.size());
  for (const auto& [name, number] : numbers_) {
    std::int32_t value = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size() || value < 0 ||
        value >= most_labels)
      return {};
    values[static_cast<std::size_t>(number)] = value;
  }
  return values;
}

}  // namespace headrace::inline v1::detail
