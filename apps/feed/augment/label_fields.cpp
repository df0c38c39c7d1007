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

namespace {

struct Thinned {
  Skeleton op{};
  LabelStep step{};
};

}  // namespace

AugmentRow skeleton() {
  return augment_row<Thinned>(
      {.name = "skeleton",
       .doc = "adds the skeleton of the label for the skeleton recall loss, uint8"},
      [](Fields& fields, Thinned& thinned) {
        fields.key("labels", thinned.op.labels,
                   {.doc = "that are thinned, as one; []: all but 0 and ignore"});
        fields.key("grow", thinned.op.grow,
                   {.doc = "by the 6 neighbours, after thinning",
                    .unit = "times",
                    .min = 0.0,
                    .max = 100.0});
        fields.key("keep_labels", thinned.op.keep_labels,
                   {.doc = "the skeleton has the voxels' labels, 0 to 255, and nothing outside of "
                           "them; else 1"});
        fields.key("slices", thinned.op.slices,
                   {.doc = "each slice along z is thinned on its own"});
        fields.key("to", thinned.op.to, {.doc = "name of the field"});
        describe(fields, thinned.step);
      },
      [](Thinned thinned, AugmentBuilder& builder) {
        add_of_labels(thinned.op, thinned.step, 1, builder);
      });
}

}  // namespace headrace::inline v1::app::operations

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

namespace {

struct BettiStep {
  BettiTargets op{};
  LabelStep step{};
};

}  // namespace

std::optional<std::int64_t> betti_side(const AugmentList& list) {
  for (const AugmentEntry& entry : list)
    if (const auto* made = std::any_cast<BettiStep>(&entry.parameters)) return made->op.side;
  return {};
}

namespace operations {

AugmentRow betti_targets() {
  return augment_row<BettiStep>(
      {.name = "betti_targets",
       .doc = "adds the Betti numbers of the label in the patch's middle, for the topology term, "
              "int32 [3]"},
      [](Fields& fields, BettiStep& made) {
        fields.key("side", made.op.side,
                   voxels("most of the crop in the middle, along each axis", 2.0, 2048.0));
        fields.key("labels", made.op.labels,
                   {.doc = "that are looked at, as one; []: all but 0 and ignore"});
        fields.key("to", made.op.to, {.doc = "name of the field"});
        describe(fields, made.step);
      },
      [](BettiStep made, AugmentBuilder& builder) {
        add_of_labels(made.op, made.step, 1, builder);
      });
}

}  // namespace operations
}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {
namespace {

struct Targets {
  DeepSupervisionTargets op{};
  LabelStep step{};
};

}  // namespace

AugmentRow deep_supervision_targets() {
  using Rule = DeepSupervisionTargets::Rule;
  using Sides = DeepSupervisionTargets::Sides;
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
