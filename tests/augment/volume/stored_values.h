#pragma once

#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace headrace::test {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

/// What volume_values.py or prediction_values.py has written, by name.
class StoredValues {
 public:
  static const StoredValues& get() {
    static const StoredValues values("volume_values.bin");
    return values;
  }
  static const StoredValues& of_predictions() {
    static const StoredValues values("prediction_values.bin");
    return values;
  }
  const Floats& floats(const std::string& name) const { return floats_.at(name); }
  const Bytes& bytes(const std::string& name) const { return bytes_.at(name); }

 private:
  explicit StoredValues(const std::string& name) {
    const std::vector<std::byte> file = read_whole_file(
        headrace::test::source_folder() + "/tests/augment/volume/data/" + name, "stored values");
    for (std::span<const std::byte> left = file; !left.empty();)
      read_array(left);
  }

  static std::span<const std::byte> take(std::span<const std::byte>& left, std::size_t count) {
    if (left.size() < count) throw std::runtime_error("stored values end too soon");
    const auto taken = left.first(count);
    left = left.subspan(count);
    return taken;
  }

  void read_array(std::span<const std::byte>& left) {
    const auto length = static_cast<std::size_t>(take(left, 1)[0]);
    const auto letters = take(left, length);
    const std::string name(reinterpret_cast<const char*>(letters.data()), length);
    const char kind = static_cast<char>(take(left, 1)[0]);
    std::uint32_t count = 0;
    std::memcpy(&count, take(left, 4).data(), 4);
    if (kind == 'f') {
      floats_[name].resize(count);
      std::memcpy(floats_[name].data(), take(left, count * sizeof(float)).data(),
                  count * sizeof(float));
      return;
    }
    const auto raw = take(left, kind == 'p' ? (count + 7) / 8 : count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto byte = static_cast<unsigned>(raw[kind == 'p' ? i / 8 : i]);
      bytes_[name].push_back(
          static_cast<std::uint8_t>(kind == 'p' ? byte >> (7 - i % 8) & 1U : byte));
    }
  }

  std::map<std::string, Floats> floats_;
  std::map<std::string, Bytes> bytes_;
};

/// The largest difference, in shares of the expected value, of values below 1 absolute.
inline double most_apart(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::max(most, apart / std::max(1.0, std::abs(static_cast<double>(b[i]))));
    if (std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
  }
  return most;
}

/// Values between about -2 and 2, in no order.
inline Floats noise_floats(std::int64_t count, unsigned seed = 1) {
  Floats values;
  unsigned state = seed;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(state >> 8) * 0x1p-22F - 2.0F);
  }
  return values;
}

template <class Value>
Sample sample_with(const char* field, const std::vector<Value>& values, const Shape& shape) {
  Sample sample;
  sample.set(field, Tensor::of(std::span<const Value>(values), shape));
  return sample;
}

template <class Value>
std::vector<Value> values_of(const Sample& sample, const char* field) {
  const auto values = sample[field].values<Value>();
  return {values.begin(), values.end()};
}

}  // namespace headrace::test
