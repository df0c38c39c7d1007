#include <headrace/apps/feed/augment/volume.h>
#include <headrace/apps/feed/made_of_labels.h>
#include <headrace/augment/volume/betti_targets.h>

namespace headrace::inline v1::app {
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
