#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_contrast.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeContrast& contrast) {
  fields.key("p", contrast.p, probability("probability of a change at all"));
  fields.key("channel_p", contrast.channel_p, probability("then, that a channel has it"));
  fields.key("factor", contrast.factor, {.doc = "least and most", .min = 0.0, .max = 1e6});
  fields.key("preserve_range", contrast.preserve_range,
             {.doc = "no value leaves the channel's former range"});
}

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow volume_contrast() {
  return volume_row<VolumeContrast>(
      {.name = "volume_contrast",
       .doc = "each value's distance to its channel's mean multiplied by a factor",
       .main = "p"});
}

}  // namespace headrace::inline v1::app::operations
