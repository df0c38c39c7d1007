#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/betti.h>
#include <headrace/augment/volume/betti_targets.h>
#include <headrace/augment/volume/detail/labels.h>

#include <algorithm>

namespace headrace::inline v1 {
namespace {

GridExtent sides_of(const GridBox& box) {
  return {box.end[0] - box.begin[0], box.end[1] - box.begin[1], box.end[2] - box.begin[2]};
}

}  // namespace

GridBox centre_box(const GridExtent& extent, std::int64_t side) {
  GridBox box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t taken = std::min(side, extent[axis]);
    box.begin[axis] = (extent[axis] - taken) / 2;
    box.end[axis] = box.begin[axis] + taken;
  }
  return box;
}

Schema BettiTargets::schema(const Schema& in) const {
  detail::label_field(in, field, name());
  if (side < 1 || side > 1024)
    throw ConfigError("[" + name() + "] side must be 1 to 1024, got " + std::to_string(side));
  if (to == field) throw ConfigError("[" + name() + "] to must be another field than the label");
  Schema out = in;
  out.put(FieldSpec::fixed(to, DType::int32, Shape{3}));
  return out;
}

std::size_t BettiTargets::working_bytes(const Schema& in) const {
  const GridExtent extent = detail::label_extent(detail::label_field(in, field, name()).shape);
  const GridExtent sides = sides_of(centre_box(extent, side));
  return static_cast<std::size_t>(voxels_of(sides)) + betti_bytes(sides);
}

void BettiTargets::operator()(Sample& sample) const {
  static thread_local detail::Scratch scratch;
  const Tensor label = detail::label_of(sample, field);
  const GridBox box = centre_box(detail::label_extent(label.shape()), side);
  const GridExtent sides = sides_of(box);
  const auto count = static_cast<std::size_t>(voxels_of(sides));
  auto* marked = scratch.reserve<std::uint8_t>(count);
  detail::mark_labels_in(box, label, labels, ignore, marked);
  const BettiNumbers betti = betti_numbers({marked, count}, sides, Neighbours::corners);
  auto* out = sample.make(to, DType::int32, Shape{3}).data<std::int32_t>();
  out[0] = static_cast<std::int32_t>(betti.components);
  out[1] = static_cast<std::int32_t>(betti.tunnels);
  out[2] = static_cast<std::int32_t>(betti.cavities);
}

}  // namespace headrace::inline v1
