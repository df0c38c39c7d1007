#include <headrace/augment/detail/normal_quantiles.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/random_erasing.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headrace::inline v1 {
namespace {

[[noreturn]] void refuse(const std::string& rule, const std::string& got) {
  throw ConfigError("[erase] " + rule + ", got " + got);
}

void check_values(const char* what, const std::vector<double>& values, std::int64_t channels) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count != 1 && count != channels) {
    refuse(std::string(what) + " must have one level, or " + std::to_string(channels) +
               " as there are channels",
           std::to_string(count));
  }
  for (double v : values) {
    if (!(v >= 0 && v <= 255))
      refuse(std::string(what) + " must be levels 0 to 255", std::to_string(v));
  }
}

void check_erasing_range(const char* what, const std::array<double, 2>& range, double least,
                         double most) {
  if (range[0] >= least && range[0] <= range[1] && range[1] <= most && range[1] > 0) return;
  refuse(std::string(what) + " must be least <= most within " + std::to_string(least) + " to " +
             std::to_string(most),
         std::to_string(range[0]) + ", " + std::to_string(range[1]));
}

double of_channel(const std::vector<double>& values, std::int64_t c) {
  return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(c)];
}

}  // namespace

Schema RandomErasing::schema(const Schema& in) const {
  detail::check_probability(p, name());
  check_erasing_range("scale", scale, 0, 1);
  check_erasing_range("ratio", ratio, 1e-3, 1e3);
  const FieldSpec& image = detail::picture_field(in, field, name());
  if (noise) {
    check_values("noise_mean", noise_mean, image.shape[2]);
    check_values("noise_deviation", noise_deviation, image.shape[2]);
  } else {
    check_values("value", value, image.shape[2]);
  }
  return in;
}

void RandomErasing::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  const detail::Picture picture = detail::picture_of(sample[field], field);
  erase(sample, draw(picture.height, picture.width, random), random);
}

RandomErasing::Box RandomErasing::draw(std::int64_t height, std::int64_t width,
                                       Random& random) const {
  const double area = static_cast<double>(height) * static_cast<double>(width);
  const double least = detail::logarithm(ratio[0]);
  const double most = detail::logarithm(ratio[1]);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * detail::draw_uniform(scale, random);
    const double shape = detail::exponential(least + (most - least) * random.uniform());
    Box box{.height = static_cast<std::int64_t>(std::nearbyint(std::sqrt(wanted * shape))),
            .width = static_cast<std::int64_t>(std::nearbyint(std::sqrt(wanted / shape)))};
    if (box.height >= height || box.width >= width) continue;
    box.top = random.below(height - box.height + 1);
    box.left = random.below(width - box.width + 1);
    return box;
  }
  return {};
}

void RandomErasing::erase(Sample& sample, const Box& box, Random& random) const {
  if (box.height < 1 || box.width < 1) return;
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  if (box.top < 0 || box.left < 0 || box.top + box.height > picture.height ||
      box.left + box.width > picture.width) {
    throw DataError("the erased box must lie in the picture, got rows " + std::to_string(box.top) +
                    " + " + std::to_string(box.height) + ", columns " + std::to_string(box.left) +
                    " + " + std::to_string(box.width) + " of " + to_string(from.shape()));
  }
  auto* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  std::memcpy(to, picture.data, from.bytes());
  const std::int64_t channels = picture.channels;
  for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
    std::uint8_t* at = to + y * picture.row_bytes() + box.left * channels;
    for (std::int64_t i = 0; i < box.width * channels; ++i) {
      const std::int64_t c = i % channels;
      double level = noise ? 0 : of_channel(value, c);
      if (noise) {
        const double drawn = of_channel(noise_mean, c) +
                             of_channel(noise_deviation, c) * detail::normal_quantile(random());
        level = std::nearbyint(std::clamp(drawn, 0.0, 255.0));
      }
      at[i] = static_cast<std::uint8_t>(level);
    }
  }
}

}  // namespace headrace::inline v1
