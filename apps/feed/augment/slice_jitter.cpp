#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/slice_jitter.h>

namespace headrace::inline v1::app::operations {

AugmentRow slice_jitter() {
  return augment_row<SliceJitter>(
      {.name = "slice_jitter",
       .doc = "each z slice of a volume moved by whole voxels, its label along",
       .main = "p"},
      [](Fields& fields, SliceJitter& jitter) {
        fields.key("p", jitter.p, probability("probability of moving at all"));
        fields.key("most", jitter.most, voxels("largest way along y and x", 0.0, 1000.0));
      },
      [](SliceJitter jitter, AugmentBuilder& builder) {
        builder.require_no_made_labels();
        jitter.field = builder.volume();
        jitter.masks = builder.context().masks;
        builder.on_samples(std::move(jitter));
      });
}

}  // namespace headrace::inline v1::app::operations
