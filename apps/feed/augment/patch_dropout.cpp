#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/patch_dropout.h>

namespace headrace::inline v1::app::operations {

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
