#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/detail/distance.h>
#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/distance_transform.h>

namespace headrace::inline v1 {

Schema DistanceTransform::schema(const Schema& in) const {
  const FieldSpec& label = detail::label_field(in, field, name());
  for (double side : spacing) {
    if (!(side >= 1e-6 && side <= 1e6)) {
      throw ConfigError("[" + name() + "] spacing must be 1e-6 to 1e6, got " +
                        std::to_string(side));
    }
  }
  if (!(most > 0)) {
    throw ConfigError("[" + name() + "] most must be positive, got " + std::to_string(most));
  }
  if (to == field) throw ConfigError("[" + name() + "] to must be another field than the label");
  return detail::with_target(in, label, to, DType::float32);
}

std::size_t DistanceTransform::working_bytes(const Schema& in) const {
  const detail::LabelGrid grid = detail::label_grid(detail::label_field(in, field, name()).shape);
  return sizeof(float) * detail::distance_values(grid) + static_cast<std::size_t>(grid.count());
}

void DistanceTransform::operator()(Sample& sample) const {
  static thread_local detail::Scratch scratch;
  const Tensor label = detail::label_of(sample, field);
  auto* features = scratch.reserve<std::uint8_t>(static_cast<std::size_t>(label.elements()));
  detail::mark_labels(label, labels, ignore, features);
  const auto narrow = [&](int axis) {
    return static_cast<float>(spacing[static_cast<std::size_t>(axis)]);
  };
  detail::distances({.features = features,
                     .grid = detail::label_grid(label.shape()),
                     .spacing = {narrow(0), narrow(1), narrow(2)},
                     .most = static_cast<float>(most),
                     .out = sample.make(to, DType::float32, label.shape()).data<float>()});
}

}  // namespace headrace::inline v1
