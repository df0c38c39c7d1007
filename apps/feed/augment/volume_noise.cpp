#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_noise.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeNoise& noise) {
  fields.key("p", noise.p, probability("probability of noise at all"));
  fields.key("channel_p", noise.channel_p, probability("then, that a channel has it"));
  fields.key("deviation", noise.deviation, {.doc = "least and most", .min = 0.0, .max = 1e6});
}

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow volume_noise() {
  return volume_row<VolumeNoise>(
      {.name = "volume_noise", .doc = "normal noise added to a volume", .main = "p"});
}

}  // namespace headrace::inline v1::app::operations
