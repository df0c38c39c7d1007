#include <headrace/augment/detail/lab.h>
#include <headrace/augment/detail/portable_math.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

// CIE 1976 Lab under D65, sRGB primaries.
constexpr double white_x = 0.950456;
constexpr double white_z = 1.088754;
constexpr int linear_one = 255 * 8;  // of a linear light in the tables
constexpr int root_bits = 15;        // fraction bits of f()
constexpr int gamma_steps = 1 << 14;

double power(double base, double exponent) {
  return base > 0 ? exponential(exponent * logarithm(base)) : 0.0;
}

std::int32_t rounded(double v) {
  return static_cast<std::int32_t>(std::nearbyint(v));
}

struct Forward {
  std::array<std::int32_t, 256> linear;
  std::vector<std::int32_t> root;  ///< f() of a light; sums of channels can pass the white
  std::array<std::int32_t, 9> weights;

  Forward() : root(static_cast<std::size_t>(linear_one) * 3 / 2 + 16) {
    for (std::size_t i = 0; i < linear.size(); ++i) {
      const double v = static_cast<double>(i) / 255;
      linear[i] =
          rounded(linear_one * (v <= 0.04045 ? v / 12.92 : power((v + 0.055) / 1.055, 2.4)));
    }
    for (std::size_t i = 0; i < root.size(); ++i) {
      const double v = static_cast<double>(i) / linear_one;
      root[i] = rounded((1 << root_bits) *
                        (v < 0.008856 ? v * 7.787 + 16.0 / 116.0 : power(v, 1.0 / 3.0)));
    }
    const double xyz[9] = {0.412453, 0.357580, 0.180423, 0.212671, 0.715160,
                           0.072169, 0.019334, 0.119193, 0.950227};
    const double white[3] = {white_x, 1.0, white_z};
    for (std::size_t i = 0; i < 9; ++i)
      weights[i] = rounded(4096 * xyz[i] / white[i / 3]);
  }
};

std::uint8_t held(std::int32_t v) {
  return static_cast<std::uint8_t>(std::clamp(v, 0, 255));
}

std::int32_t descaled(std::int32_t v, int bits) {
  return (v + (1 << (bits - 1))) >> bits;
}

struct Backward {
  std::array<float, 256> light;  ///< f(Y / Yn) of a lightness
  std::array<std::uint8_t, gamma_steps + 1> level;

  Backward() {
    for (std::size_t i = 0; i < light.size(); ++i) {
      const double lightness = static_cast<double>(i) * 100 / 255;
      light[i] = static_cast<float>(lightness <= 8 ? 7.787 * lightness / 903.3 + 16.0 / 116.0
                                                   : (lightness + 16) / 116);
    }
    for (std::size_t i = 0; i < level.size(); ++i) {
      const double v = static_cast<double>(i) / gamma_steps;
      level[i] = static_cast<std::uint8_t>(
          std::nearbyint(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * power(v, 1 / 2.4) - 0.055)));
    }
  }

  std::uint8_t level_of(float v) const {
    const float step = std::clamp(v, 0.0F, 1.0F) * gamma_steps + 0.5F;
    return level[static_cast<std::size_t>(step)];
  }
};

/// The light whose f() this is.
float light_of(float f) {
  return f <= 6.0F / 29.0F ? (f - 16.0F / 116.0F) / 7.787F : f * f * f;
}

}  // namespace

void rgb_to_lab(const std::uint8_t* rgb, std::int64_t pixels, std::uint8_t* lab) {
  static const Forward tables;
  constexpr std::int32_t lightness_scale = (116 * 255 + 50) / 100;
  constexpr std::int32_t lightness_shift = -((16 * 255 * (1 << root_bits) + 50) / 100);
  constexpr std::int32_t middle = 128 * (1 << root_bits);
  const auto& w = tables.weights;
  for (std::int64_t i = 0; i < pixels; ++i, rgb += 3, lab += 3) {
    const std::int32_t r = tables.linear[rgb[0]];
    const std::int32_t g = tables.linear[rgb[1]];
    const std::int32_t b = tables.linear[rgb[2]];
    const auto root = [&](std::size_t row) {
      const std::int32_t light = r * w[row] + g * w[row + 1] + b * w[row + 2];
      return tables.root[static_cast<std::size_t>(descaled(light, 12))];
    };
    const std::int32_t fx = root(0);
    const std::int32_t fy = root(3);
    const std::int32_t fz = root(6);
    lab[0] = held(descaled(lightness_scale * fy + lightness_shift, root_bits));
    lab[1] = held(descaled(500 * (fx - fy) + middle, root_bits));
    lab[2] = held(descaled(200 * (fy - fz) + middle, root_bits));
  }
}

void lab_to_rgb(const std::uint8_t* lab, std::int64_t pixels, std::uint8_t* rgb) {
  static const Backward tables;
  for (std::int64_t i = 0; i < pixels; ++i, lab += 3, rgb += 3) {
    const float fy = tables.light[lab[0]];
    const float x =
        light_of(fy + static_cast<float>(lab[1] - 128) / 500.0F) * static_cast<float>(white_x);
    const float y = light_of(fy);
    const float z =
        light_of(fy - static_cast<float>(lab[2] - 128) / 200.0F) * static_cast<float>(white_z);
    rgb[0] = tables.level_of(3.240479F * x - 1.53715F * y - 0.498535F * z);
    rgb[1] = tables.level_of(-0.969256F * x + 1.875991F * y + 0.041556F * z);
    rgb[2] = tables.level_of(0.055648F * x - 0.204043F * y + 1.057311F * z);
  }
}

}  // namespace headrace::inline v1::detail
