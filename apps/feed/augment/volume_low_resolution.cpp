#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_low_resolution.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeLowResolution& low) {
  fields.key("p", low.p, probability("probability of a change at all"));
  fields.key("channel_p", low.channel_p, probability("then, that a channel has it"));
  fields.key("zoom", low.zoom,
             {.doc = "least and most, the same along all axes", .min = 0.01, .max = 1.0});
  fields.key("keep_depth", low.keep_depth, {.doc = "not along z, for patches of thick slices"});
}

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow volume_low_resolution() {
  return volume_row<VolumeLowResolution>(
      {.name = "volume_low_resolution",
       .doc = "channels of a volume made smaller and as large again",
       .main = "p"});
}

}  // namespace headrace::inline v1::app::operations
