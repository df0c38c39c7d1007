#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_blur.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeBlur& blur) {
  fields.key("p", blur.p, probability("probability of smoothing at all"));
  fields.key("channel_p", blur.channel_p, probability("then, that a channel has it"));
  fields.key("deviation", blur.deviation, voxels("least and most", 0.1, 20.0));
}

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow volume_blur() {
  return volume_row<VolumeBlur>(
      {.name = "volume_blur",
       .doc = "a volume smoothed by Gaussians, of another deviation for each channel and axis",
       .main = "p"});
}

}  // namespace headrace::inline v1::app::operations
