#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/volume_gamma.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeGamma& gamma) {
  fields.key("p", gamma.p, probability("probability of a change at all"));
  fields.key("channel_p", gamma.channel_p, probability("then, that a channel has it"));
  fields.key("exponent", gamma.exponent, {.doc = "least and most", .min = 0.01, .max = 100.0});
  fields.choice(
      "rule", gamma.rule,
      {{"about_one", VolumeGamma::Rule::about_one}, {"uniform", VolumeGamma::Rule::uniform}},
      {.doc = "as likely below 1 as above, or uniform in the whole range"});
  fields.key("invert", gamma.invert, {.doc = "the negated values are raised"});
  fields.key("retain_stats", gamma.retain_stats, {.doc = "mean and deviation of the channel stay"});
}

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow volume_gamma() {
  return volume_row<VolumeGamma>(
      {.name = "volume_gamma",
       .doc = "values of each channel, taken from 0 to 1, raised to a power",
       .main = "p"});
}

}  // namespace headrace::inline v1::app::operations
