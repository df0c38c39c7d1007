#pragma once

#include <headrace/monitor/system_sample.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor::detail {

using OrderedJson = nlohmann::ordered_json;

/// To so many decimals: more digits than are measured make a long run's file several times as long.
inline double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::isfinite(value) ? std::round(value * scale) / scale : 0.0;
}

/// A number of bytes without a fraction.
inline std::uint64_t bytes(double value) {
  return value > 0.0 ? static_cast<std::uint64_t>(std::llround(value)) : 0;
}

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

/// Takes the value of a key, if it is there and of this kind.
template <class Value>
void put(Value& target, const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && holds<Value>(*found)) target = found->template get<Value>();
}

template <class Value>
void put(std::optional<Value>& target, const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && holds<Value>(*found)) target = found->template get<Value>();
}

/// The objects of a list under a key; none where it is none.
std::vector<OrderedJson> items(const OrderedJson& object, const char* key);

void put_gpus(OrderedJson& line, const SystemSample& sample);
void read_gpus(SystemSample& sample, const OrderedJson& line);

}  // namespace headrace::inline v1::monitor::detail
