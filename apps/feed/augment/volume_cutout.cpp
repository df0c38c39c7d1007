#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_cutout.h>

namespace headrace::inline v1::app::operations {

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

}  // namespace headrace::inline v1::app::operations
