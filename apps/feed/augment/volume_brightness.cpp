#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_brightness.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeBrightness& brightness) {
  fields.key("p", brightness.p, probability("probability of a change at all"));
  fields.key("channel_p", brightness.channel_p, probability("then, that a channel has it"));
  fields.key("factor", brightness.factor, {.doc = "least and most", .min = 0.0, .max = 1e6});
}

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow volume_brightness() {
  return volume_row<VolumeBrightness>({.name = "volume_brightness",
                                       .doc = "each channel of a volume multiplied by a factor",
                                       .main = "p"});
}

}  // namespace headrace::inline v1::app::operations
