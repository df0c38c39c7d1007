#include <headrace/augment/color_jitter.h>
#include <headrace/augment/detail/colour_steps.h>
#include <headrace/augment/detail/picture.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1 {
namespace {

std::optional<double> drawn(const ColorJitter::Range& range, double none, Random& random) {
  if (range[0] == none && range[1] == none) return {};
  return detail::draw_uniform(range, random);
}

}  // namespace

ColorJitter ColorJitter::by(double brightness, double contrast, double saturation, double hue) {
  const auto around = [](double by) { return Range{std::max(0.0, 1.0 - by), 1.0 + by}; };
  return {.brightness = around(brightness),
          .contrast = around(contrast),
          .saturation = around(saturation),
          .hue = {-hue, hue}};
}

Schema ColorJitter::schema(const Schema& in) const {
  detail::check_span(brightness, {0, 1000}, name(), "brightness");
  detail::check_span(contrast, {0, 1000}, name(), "contrast");
  detail::check_span(saturation, {0, 1000}, name(), "saturation");
  detail::check_span(hue, {-0.5, 0.5}, name(), "hue");
  detail::check_probability(p, name());
  detail::colour_field(in, field, name());
  return in;
}

void ColorJitter::operator()(Sample& sample, Random& random) const {
  if (p < 1.0 && !random.chance(p)) return;
  Factors factors;
  for (std::size_t i = factors.order.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)));
    std::swap(factors.order[i - 1], factors.order[j]);
  }
  factors.brightness = drawn(brightness, 1, random);
  factors.contrast = drawn(contrast, 1, random);
  factors.saturation = drawn(saturation, 1, random);
  factors.hue = drawn(hue, 0, random);
  adjust(sample, factors);
}

void ColorJitter::adjust(Sample& sample, const Factors& factors) const {
  const Tensor from = sample[field];
  detail::Picture picture = detail::colours_of(from, field);
  std::uint8_t* to = nullptr;
  const auto change = [&](const std::optional<double>& factor, auto work) {
    if (!factor) return;
    if (to == nullptr)
      to = sample.make(field, DType::uint8, from.shape()).template data<std::uint8_t>();
    work(picture, to, *factor);
    picture.data = to;
  };
  for (const Step step : factors.order) {
    switch (step) {
      case Step::brightness:
        change(factors.brightness, detail::adjust_brightness);
        break;
      case Step::contrast:
        change(factors.contrast, detail::adjust_contrast);
        break;
      case Step::saturation:
        change(factors.saturation, detail::adjust_saturation);
        break;
      case Step::hue:
        change(factors.hue, detail::adjust_hue);
        break;
    }
  }
}

}  // namespace headrace::inline v1
