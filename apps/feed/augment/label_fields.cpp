#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/betti_targets.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/augment/volume/skeleton.h>
#include <headrace/augment/volume/soft_skeleton.h>

namespace headrace::inline v1::app::operations {
namespace {

struct Distance {
  DistanceTransform op{};
  std::optional<double> most{};
  LabelStep step{};
};

template <class Op>
struct OfLabels {
  Op op{};
  LabelStep step{};
};

// A row of an operation that adds one field, whose keys are its own and those of the step.
template <class Op, class Describe>
AugmentRow label_row(AugmentRow row, const Describe& describe_op) {
  return augment_row<OfLabels<Op>>(
      std::move(row),
      [describe_op](Fields& fields, OfLabels<Op>& made) {
        describe_op(fields, made.op);
        describe(fields, made.step);
      },
      [](OfLabels<Op> made, AugmentBuilder& builder) {
        add_of_labels(std::move(made.op), made.step, 1, builder);
      });
}

}  // namespace

AugmentRow distance_transform() {
  return augment_row<Distance>(
      {.name = "distance_transform",
       .doc = "adds the distance of every voxel to the nearest of some labels, float32"},
      [](Fields& fields, Distance& distance) {
        fields.key("labels", distance.op.labels, {.doc = "to these; []: to all but 0 and ignore"});
        fields.key(
            "spacing", distance.op.spacing,
            {.doc = "of voxels along z, y, x; what distances are in", .min = 1e-6, .max = 1e6});
        fields.key("most", distance.most,
                   {.doc = "distances beyond are this; null: exact everywhere", .above = 0.0});
        fields.key("to", distance.op.to, {.doc = "name of the field"});
        describe(fields, distance.step);
      },
      [](Distance distance, AugmentBuilder& builder) {
        if (distance.most) distance.op.most = *distance.most;
        add_of_labels(distance.op, distance.step, 1, builder);
      });
}

AugmentRow skeleton() {
  return label_row<Skeleton>(
      {.name = "skeleton",
       .doc = "adds the skeleton of the label for the skeleton recall loss, uint8"},
      [](Fields& fields, Skeleton& thinned) {
        fields.key("labels", thinned.labels,
                   {.doc = "that are thinned, as one; []: all but 0 and ignore"});
        fields.key("grow", thinned.grow,
                   {.doc = "by the 6 neighbours, after thinning",
                    .unit = "times",
                    .min = 0.0,
                    .max = 100.0});
        fields.key("keep_labels", thinned.keep_labels,
                   {.doc = "the skeleton has the voxels' labels, 0 to 255, and nothing outside of "
                           "them; else 1"});
        fields.key("slices", thinned.slices, {.doc = "each slice along z is thinned on its own"});
        fields.key("to", thinned.to, {.doc = "name of the field"});
      });
}

AugmentRow soft_skeleton() {
  return label_row<SoftSkeleton>(
      {.name = "soft_skeleton",
       .doc = "adds the soft skeleton of the label, for clDice and the skeleton term, uint8"},
      [](Fields& fields, SoftSkeleton& made) {
        fields.key("iterations", made.iterations,
                   {.doc = "as the term has: half of the largest thickness",
                    .unit = "voxels",
                    .min = 1.0,
                    .max = 64.0});
        fields.choice(
            "by", made.operators,
            {{"cross", SoftSkeleton::Operators::cross}, {"cube", SoftSkeleton::Operators::cube}},
            {.doc = "what erodes: the six neighbours, or the cube of 27"});
        fields.key("labels", made.labels,
                   {.doc = "that are looked at, as one; []: all but 0 and ignore"});
        fields.key("to", made.to, {.doc = "name of the field"});
      });
}

AugmentRow betti_targets() {
  return label_row<BettiTargets>(
      {.name = "betti_targets",
       .doc = "adds the Betti numbers of the label in the patch's middle, for the topology term, "
              "int32 [3]"},
      [](Fields& fields, BettiTargets& made) {
        fields.key("side", made.side,
                   voxels("most of the crop in the middle, along each axis", 2.0, 2048.0));
        fields.key("labels", made.labels,
                   {.doc = "that are looked at, as one; []: all but 0 and ignore"});
        fields.key("to", made.to, {.doc = "name of the field"});
      });
}

AugmentRow deep_supervision_targets() {
  using Rule = DeepSupervisionTargets::Rule;
  using Sides = DeepSupervisionTargets::Sides;
  using Targets = OfLabels<DeepSupervisionTargets>;
  return augment_row<Targets>(
      {.name = "deep_supervision_targets",
       .doc = "adds the label at smaller sizes, as label_1, label_2, ...",
       .main = "factors"},
      [](Fields& fields, Targets& targets) {
        fields.key("factors", targets.op.factors,
                   {.doc = "of each size, by what z, y, x are divided", .min = 1.0, .max = 1e6});
        fields.choice(
            "rule", targets.op.rule, {{"nearest", Rule::nearest}, {"surface", Rule::surface}},
            {.doc =
                 "the nearest voxel, or the largest foreground label, so that thin surfaces stay"});
        fields.choice("sides", targets.op.sides,
                      {{"nearest", Sides::nearest}, {"down", Sides::down}, {"up", Sides::up}},
                      {.doc = "how the sides are rounded"});
        describe(fields, targets.step);
      },
      [](Targets targets, AugmentBuilder& builder) {
        const std::size_t added = targets.op.factors.size();
        add_of_labels(targets.op, targets.step, added, builder);
      });
}

}  // namespace headrace::inline v1::app::operations

namespace headrace::inline v1::app {

std::optional<SkeletonMade> soft_skeleton_made(const AugmentList& list) {
  for (const AugmentEntry& entry : list)
    if (const auto* made = std::any_cast<operations::OfLabels<SoftSkeleton>>(&entry.parameters))
      return SkeletonMade{.iterations = made->op.iterations,
                          .cube = made->op.operators == SoftSkeleton::Operators::cube};
  return {};
}

std::optional<std::int64_t> betti_side(const AugmentList& list) {
  for (const AugmentEntry& entry : list)
    if (const auto* made = std::any_cast<operations::OfLabels<BettiTargets>>(&entry.parameters))
      return made->op.side;
  return {};
}

}  // namespace headrace::inline v1::app
