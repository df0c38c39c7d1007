#pragma once

#include <headrace/monitor/system/system_sample.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor::detail {

using OrderedJson = nlohmann::ordered_json;

/// To so many decimals: more digits than are measured make a long run's file several times as long.
inline double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::isfinite(value) ? std::round(value * scale) / scale : 0.0;
}

/// A number of bytes without a fraction.
inline std::uint64_t whole_bytes(double value) {
  return value > 0.0 ? static_cast<std::uint64_t>(std::llround(value)) : 0;
}

/// Puts fields into a line; what is not known gets no key.
struct LineWriter {
  OrderedJson& line;

  template <class Value>
  void operator()(const char* key, const Value& value) const {
    line[key] = value;
  }
  template <class Value>
  void operator()(const char* key, const std::optional<Value>& value) const {
    if (value) line[key] = *value;
  }
  /// Nothing where it is 0 or empty.
  void known(const char* key, const auto& value) const {
    if (value != std::remove_cvref_t<decltype(value)>{}) line[key] = value;
  }
  void share(const char* key, const auto& value) const { figure(key, value, 4); }
  void figure(const char* key, const std::optional<double>& value, int decimals) const {
    if (value) line[key] = rounded(*value, decimals);
  }
  void bytes(const char* key, const std::optional<double>& value) const {
    if (value) line[key] = whole_bytes(*value);
  }
  /// Items that put nothing are left out.
  void list(const char* key, const auto& values, const auto& fields) const {
    OrderedJson items = OrderedJson::array();
    for (const auto& value : values) {
      OrderedJson item;
      fields(value, LineWriter{item});
      if (!item.is_null()) items.push_back(std::move(item));
    }
    if (!items.empty()) line[key] = std::move(items);
  }
  void object(const char* key, const auto& value, const auto& fields) const {
    if (value) fields(*value, LineWriter{line[key]});
  }
  /// Whether fields follow that are not always known.
  static bool when(bool known) { return known; }
  /// Likewise of what a reader knows by these keys.
  static bool there(const auto& value, std::initializer_list<const char*> /*keys*/) {
    return static_cast<bool>(value);
  }
};

/// Whether a value of JSON can be one of this type: a number that it has room for.
template <class Value>
bool holds(const OrderedJson& value) {
  if constexpr (std::is_same_v<Value, bool>) return value.is_boolean();
  if constexpr (std::is_same_v<Value, std::string>) return value.is_string();
  if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) {
    if (!value.is_number() || std::is_floating_point_v<Value>) return value.is_number();
    const auto number = value.get<double>();
    return number >= static_cast<double>(std::numeric_limits<Value>::lowest()) &&
           number < static_cast<double>(std::numeric_limits<Value>::max());
  }
  return false;
}

/// Takes the fields whose keys are there with a value of their kind.
struct LineReader {
  const OrderedJson& line;

  template <class Value>
  void operator()(const char* key, Value& value) const {
    take<Value>(key, value);
  }
  template <class Value>
  void operator()(const char* key, std::optional<Value>& value) const {
    take<Value>(key, value);
  }
  void operator()(const char* key, std::vector<std::string>& words) const {
    for (const OrderedJson& word : items(key))
      if (word.is_string()) words.push_back(word.get<std::string>());
  }
  void known(const char* key, auto& value) const { (*this)(key, value); }
  void share(const char* key, auto& value) const { (*this)(key, value); }
  void figure(const char* key, auto& value, int /*decimals*/) const { (*this)(key, value); }
  void bytes(const char* key, auto& value) const { (*this)(key, value); }
  void list(const char* key, auto& values, const auto& fields) const {
    for (const OrderedJson& item : items(key))
      if (item.is_object()) fields(values.emplace_back(), LineReader{item});
  }
  void object(const char* key, auto& value, const auto& fields) const {
    const auto found = line.find(key);
    if (found != line.end() && found->is_object()) fields(value.emplace(), LineReader{*found});
  }
  static bool when(bool /*known*/) { return true; }
  bool there(auto& value, std::initializer_list<const char*> keys) const {
    const bool found =
        std::ranges::any_of(keys, [this](const char* key) { return line.contains(key); });
    if constexpr (std::is_same_v<decltype(value), bool&>) {
      value = found;
      return true;
    } else {
      if (found) value.emplace();
      return found;
    }
  }

 private:
  template <class Value>
  void take(const char* key, auto& into) const {
    const auto found = line.find(key);
    if (found != line.end() && holds<Value>(*found)) into = found->template get<Value>();
  }
  const OrderedJson& items(const char* key) const {
    static const OrderedJson none = OrderedJson::array();
    const auto found = line.find(key);
    return found == line.end() || !found->is_array() ? none : *found;
  }
};

}  // namespace headrace::inline v1::monitor::detail
