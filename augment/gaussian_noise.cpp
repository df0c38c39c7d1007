#include <headrace/augment/detail/normal_quantiles.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/gaussian_noise.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1 {
namespace {

constexpr std::uint32_t steps = 4096;

std::uint8_t moved(std::uint8_t level, int by) {
  return static_cast<std::uint8_t>(std::clamp(level + by, 0, 255));
}

}  // namespace

Schema GaussianNoise::schema(const Schema& in) const {
  if (!(sigma[0] >= 0 && sigma[0] <= sigma[1] && sigma[1] <= 255)) {
    throw ConfigError("[noise] sigma must be least <= most within 0 to 255, got " +
                      std::to_string(sigma[0]) + ", " + std::to_string(sigma[1]));
  }
  detail::check_probability(p, name());
  detail::picture_field(in, field, name());
  return in;
}

void GaussianNoise::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  add(sample, detail::draw_uniform(sigma, random), random);
}

void GaussianNoise::add(Sample& sample, double deviation, Random& random) const {
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  std::array<std::int16_t, steps> levels{};
  for (std::uint32_t i = 0; i < steps; ++i)
    levels[i] =
        static_cast<std::int16_t>(std::nearbyint(deviation * detail::normal_quantile(i << 20)));
  auto* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  const std::int64_t count = picture.bytes();
  for (std::int64_t i = 0; i < count; i += 2) {
    const std::uint32_t bits = random();
    to[i] = moved(picture.data[i], levels[bits >> 20]);
    if (i + 1 < count) to[i + 1] = moved(picture.data[i + 1], levels[bits & (steps - 1)]);
  }
}

}  // namespace headrace::inline v1
