#include <headrace/apps/feed/augment/volume.h>
#include <headrace/apps/feed/made_of_labels.h>
#include <headrace/augment/volume/soft_skeleton.h>

namespace headrace::inline v1::app {
namespace {

struct SkeletonStep {
  SoftSkeleton op{};
  LabelStep step{};
};

}  // namespace

std::optional<SkeletonMade> soft_skeleton_made(const AugmentList& list) {
  for (const AugmentEntry& entry : list)
    if (const auto* made = std::any_cast<SkeletonStep>(&entry.parameters))
      return SkeletonMade{.iterations = made->op.iterations,
                          .cube = made->op.operators == SoftSkeleton::Operators::cube};
  return {};
}

namespace operations {

AugmentRow soft_skeleton() {
  return augment_row<SkeletonStep>(
      {.name = "soft_skeleton",
       .doc = "adds the soft skeleton of the label, for clDice and the skeleton term, uint8"},
      [](Fields& fields, SkeletonStep& made) {
        fields.key("iterations", made.op.iterations,
                   {.doc = "as the term has: half of the largest thickness",
                    .unit = "voxels",
                    .min = 1.0,
                    .max = 64.0});
        fields.choice(
            "by", made.op.operators,
            {{"cross", SoftSkeleton::Operators::cross}, {"cube", SoftSkeleton::Operators::cube}},
            {.doc = "what erodes: the six neighbours, or the cube of 27"});
        fields.key("labels", made.op.labels,
                   {.doc = "that are looked at, as one; []: all but 0 and ignore"});
        fields.key("to", made.op.to, {.doc = "name of the field"});
        describe(fields, made.step);
      },
      [](SkeletonStep made, AugmentBuilder& builder) {
        add_of_labels(made.op, made.step, 1, builder);
      });
}

}  // namespace operations
}  // namespace headrace::inline v1::app
