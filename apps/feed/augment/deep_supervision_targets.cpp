#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/deep_supervision_targets.h>

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
