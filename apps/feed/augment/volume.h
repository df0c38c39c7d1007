#pragma once

// What the operations on volumes share.

#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/volume/nnunet_intensity.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace headrace::inline v1::app {

/// Parameters of the operations of which nnU-Net's intensity augmentation is made.
void describe(Fields& fields, VolumeNoise& noise);
void describe(Fields& fields, VolumeBlur& blur);
void describe(Fields& fields, VolumeBrightness& brightness);
void describe(Fields& fields, VolumeContrast& contrast);
void describe(Fields& fields, VolumeLowResolution& low);
void describe(Fields& fields, VolumeGamma& gamma);

KeyOptions voxels(std::string doc, double min, double max);

/// Adds an operation on volumes that sets no masks.
template <class Op>
void add_to_volume(Op op, AugmentBuilder& builder) {
  op.field = builder.volume();
  builder.on_samples(std::move(op));
}

/// A row of such an operation whose keys are those of describe().
template <class Op>
AugmentRow volume_row(AugmentRow row) {
  return augment_row<Op>(
      std::move(row), [](Fields& fields, Op& op) { describe(fields, op); }, add_to_volume<Op>);
}

/// What the operations that add a field made of the label share.
struct LabelStep {
  std::optional<std::int64_t> ignore{};
  int limit = 0;
};

void describe(Fields& fields, LabelStep& step);

/// Throws ConfigError where one of `added` fields that it makes is there already.
void require_new_fields(const Schema& made, std::size_t added, const AugmentBuilder& builder);

/// Adds an operation on the label, which adds so many fields.
template <class Op>
void add_of_labels(Op op, const LabelStep& step, std::size_t added, AugmentBuilder& builder) {
  op.field = builder.voxel_labels();
  op.ignore = step.ignore.value_or(builder.context().ignore.value_or(op.ignore));
  const Schema before = builder.fields();
  require_new_fields(op.schema(before), added, builder);
  builder.on_samples(std::move(op), {.limit = step.limit});
  builder.made_of_labels(before);
}

}  // namespace headrace::inline v1::app
