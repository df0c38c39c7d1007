#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/volume_cutout.h>

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

AugmentRow volume_cutout() {
  return augment_row<VolumeCutout>(
      {.name = "volume_cutout", .doc = "boxes of a volume filled", .main = "p"},
      [](Fields& fields, VolumeCutout& cutout) {
        fields.key("p", cutout.p, probability("probability of boxes at all"));
        fields.key("boxes", cutout.boxes, {.doc = "of a volume", .min = 1.0, .max = 16.0});
        fields.key("side", cutout.side, voxels("least and most", 1.0, 65535.0));
        fields.key("fill", cutout.fill,
                   {.doc = "what they hold; 0: the mean of volumes that are normalised"});
      },
      add_to_volume<VolumeCutout>);
}

AugmentRow patch_dropout() {
  return augment_row<PatchDropout>(
      {.name = "patch_dropout", .doc = "cells of a grid over a volume filled", .main = "p"},
      [](Fields& fields, PatchDropout& dropout) {
        fields.key("p", dropout.p, probability("probability of filled cells at all"));
        fields.key("least_kept", dropout.least_kept,
                   probability("least share of the cells that stays, up to all"));
        fields.key("cell", dropout.cell,
                   voxels("sides along z, y, x; 4096 cells at most", 1.0, 65535.0));
        fields.key("fill", dropout.fill, {.doc = "what they hold"});
      },
      add_to_volume<PatchDropout>);
}

}  // namespace headrace::inline v1::app::operations
