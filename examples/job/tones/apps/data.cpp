#include <headrace/apps/jobs/tones/data.h>
#include <headrace/engine/base/random.h>

#include <cmath>
#include <utility>

namespace headrace::inline v1::app {

Tones::Tones(const TonesConfig& config, std::int64_t sounds, std::int64_t set)
    : data_(config.data), sounds_(sounds), seed_(config.seed), set_(set) {}

Schema Tones::fields() const {
  return {FieldSpec::fixed("sound", DType::float32, {1, tone_values}),
          FieldSpec::fixed("label", DType::int64, {})};
}

void Tones::read(std::int64_t index, Sample& sample) const {
  Random random(RandomKey{.seed = seed_, .epoch = set_, .position = index});
  const std::int64_t pitch = index % data_.pitches;
  const double step = 0.05 * static_cast<double>(pitch + 1);
  const double phase = random.uniform(0.0, 2.0 * M_PI);
  auto* const values = sample.make("sound", DType::float32, {1, tone_values}).data<float>();
  for (std::int64_t i = 0; i < tone_values; ++i) {
    const double sine = std::sin(phase + step * static_cast<double>(i));
    values[i] = static_cast<float>(sine + data_.noise * random.normal());
  }
  sample.set_scalar<std::int64_t>("label", pitch);
}

Pipeline tones_training_pipeline(std::shared_ptr<const Source> sounds, const TonesConfig& config,
                                 Device device) {
  return Pipeline::from(std::move(sounds))
      .named("train")
      .order(Shuffled{.seed = config.seed})
      .batch({.size = config.training.batch, .tail = Tail::drop})
      .to(device);
}

}  // namespace headrace::inline v1::app
