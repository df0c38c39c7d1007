#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/skeleton.h>

namespace headrace::inline v1::app::operations {
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
