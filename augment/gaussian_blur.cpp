#include <headrace/augment/detail/blur.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/gaussian_blur.h>
#include <headrace/engine/base/error.h>

namespace headrace::inline v1 {
namespace {

constexpr int most_taps = 127;

/// Sum to 65535; the middle one takes what rounding leaves.
void make_weights(int count, double deviation, std::uint16_t* to) {
  double values[most_taps] = {};
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const double x = (i - (count - 1) / 2) / deviation;
    values[i] = x * x > 1000 ? 0 : detail::exponential(-0.5 * x * x);
    sum += values[i];
  }
  int left = 65535;
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<std::uint16_t>(65535 * (values[i] / sum) + 0.5);
    left -= to[i];
  }
  to[count / 2] = static_cast<std::uint16_t>(to[count / 2] + left);
}

bool fits(int taps, std::int64_t side) {
  return taps / 2 < side;
}

}  // namespace

Schema GaussianBlur::schema(const Schema& in) const {
  const auto good = [](int taps) { return taps >= 1 && taps <= most_taps && taps % 2 == 1; };
  if (!good(height) || !good(width)) {
    throw ConfigError("[blur] height and width must be odd, 1 to 127, got " +
                      std::to_string(height) + " x " + std::to_string(width));
  }
  if (!(sigma[0] > 0 && sigma[0] <= sigma[1] && sigma[1] < 1e6)) {
    throw ConfigError("[blur] sigma must be 0 < least <= most, got " + std::to_string(sigma[0]) +
                      ", " + std::to_string(sigma[1]));
  }
  detail::check_probability(p, name());
  const FieldSpec& image = detail::picture_field(in, field, name());
  if (!fits(height, image.shape[0]) || !fits(width, image.shape[1])) {
    throw ConfigError("[blur] half the kernel must be less than the picture, got " +
                      std::to_string(height) + " x " + std::to_string(width) + " for " +
                      to_string(image));
  }
  return in;
}

std::size_t GaussianBlur::working_bytes(const Schema& in) const {
  const FieldSpec& image = detail::picture_field(in, field, name());
  return detail::blur_line_values(image.shape[1], image.shape[2], width) * sizeof(std::uint16_t);
}

void GaussianBlur::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  blur(sample, detail::draw_uniform(sigma, random));
}

void GaussianBlur::blur(Sample& sample, double deviation) const {
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  if (!fits(height, picture.height) || !fits(width, picture.width)) {
    throw DataError("picture must be larger than half the kernel of " + std::to_string(height) +
                    " x " + std::to_string(width) + ", got " + to_string(from.shape()));
  }
  std::uint16_t rows[most_taps];
  std::uint16_t columns[most_taps];
  make_weights(height, deviation, rows);
  make_weights(width, deviation, columns);
  auto* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  detail::blur({.picture = picture,
                .row_taps = height,
                .row_weights = rows,
                .column_taps = width,
                .column_weights = columns,
                .out = to});
}

}  // namespace headrace::inline v1
