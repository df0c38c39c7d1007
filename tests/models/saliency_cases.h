#pragma once

#include <headrace/models/metrics/saliency_pair.h>
#include <headrace/tests/models/hashed_fill.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::test {

/// The pictures of reference/make_saliency_values.py.
struct SaliencyCases {
  static constexpr int free = 200;  ///< none of which depends on the choice between nearest pixels
  static constexpr int tied = 40;   ///< behind them, which do
};

namespace detail {

inline std::vector<double> numbers(const std::string& name, std::int64_t count) {
  const at::Tensor values = hashed_fill(name, {count}, .5, .5);
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + count};
}

inline std::int64_t whole(double value) {
  return static_cast<std::int64_t>(value);
}

using Mask = std::vector<std::uint8_t>;

inline Mask rectangle(const std::vector<double>& u, models::SaliencySize size) {
  const auto height = static_cast<double>(size.height);
  const auto width = static_cast<double>(size.width);
  const std::int64_t top = whole(u[2] * (height - 4));
  const std::int64_t left = whole(u[3] * (width - 4));
  const std::int64_t bottom = top + 1 + whole(u[4] * (height - 2 - static_cast<double>(top)));
  const std::int64_t right = left + 1 + whole(u[5] * (width - 2 - static_cast<double>(left)));
  Mask mask;
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x)
      mask.push_back(y >= top && y < bottom && x >= left && x < right ? 1 : 0);
  }
  return mask;
}

inline Mask blob(const std::vector<double>& u, const std::string& name, models::SaliencySize size) {
  const auto height = static_cast<double>(size.height);
  const auto width = static_cast<double>(size.width);
  const std::vector<double> noise = numbers(name + " noise", size.height * size.width);
  Mask mask;
  for (std::int64_t row = 0; row < size.height; ++row) {
    const double y = (static_cast<double>(row) - u[2] * height) / (1 + u[4] * height / 3);
    for (std::int64_t column = 0; column < size.width; ++column) {
      const double x = (static_cast<double>(column) - u[3] * width) / (1 + u[5] * width / 3);
      mask.push_back(y * y + x * x <= 1 || noise[mask.size()] < .02 ? 1 : 0);
    }
  }
  mask[static_cast<std::size_t>(size.height / 2 * size.width + size.width / 2)] = 1;
  mask[0] = 0;
  return mask;
}

}  // namespace detail

/// Picture `i`; every second pair has 8 bits, which are brought to [0, 1].
inline models::SaliencyPair saliency_case(int i) {
  using detail::whole;
  const std::string name = "saliency " + std::to_string(i);
  const std::vector<double> u = detail::numbers(name, 8);
  const models::SaliencySize size{7 + whole(u[0] * 58), 7 + whole(u[1] * 58)};
  std::vector<double> p = detail::numbers(name + " prediction", size.height * size.width);
  const int kind = i < SaliencyCases::free ? i % 4 : 4;
  const detail::Mask mask = kind < 2 ? detail::rectangle(u, size) : detail::blob(u, name, size);
  const bool bits = kind == 1 || kind == 3;
  const double strength = .6 * u[6];
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (kind == 1) p[k] = (strength * mask[k] + (1 - strength) * p[k]) * 255;
    if (kind == 2)
      p[k] = mask[k] != 0 ? static_cast<double>(8 + whole(u[6] * 50)) / 64 : p[k] * u[7];
    if (kind == 3)
      p[k] = mask[k] != 0 ? 25 + static_cast<double>(whole(u[6] * 230)) : p[k] * u[7] * 255;
    if (bits) p[k] = static_cast<double>(whole(p[k])) / 255;
  }
  return {p, mask, size, bits ? models::SaliencyRange::min_max : models::SaliencyRange::as_it_is};
}

}  // namespace headrace::test
