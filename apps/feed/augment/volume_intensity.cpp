#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/nnunet_intensity_batch.h>
#include <headrace/augment/volume/volume_blur.h>
#include <headrace/augment/volume/volume_brightness.h>
#include <headrace/augment/volume/volume_contrast.h>
#include <headrace/augment/volume/volume_gamma.h>
#include <headrace/augment/volume/volume_low_resolution.h>
#include <headrace/augment/volume/volume_noise.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, VolumeNoise& noise) {
  fields.key("p", noise.p, probability("probability of noise at all"));
  fields.key("channel_p", noise.channel_p, probability("then, that a channel has it"));
  fields.key("deviation", noise.deviation, {.doc = "least and most", .min = 0.0, .max = 1e6});
}

void describe(Fields& fields, VolumeBlur& blur) {
  fields.key("p", blur.p, probability("probability of smoothing at all"));
  fields.key("channel_p", blur.channel_p, probability("then, that a channel has it"));
  fields.key("deviation", blur.deviation, voxels("least and most", 0.1, 20.0));
}

void describe(Fields& fields, VolumeBrightness& brightness) {
  fields.key("p", brightness.p, probability("probability of a change at all"));
  fields.key("channel_p", brightness.channel_p, probability("then, that a channel has it"));
  fields.key("factor", brightness.factor, {.doc = "least and most", .min = 0.0, .max = 1e6});
}

void describe(Fields& fields, VolumeContrast& contrast) {
  fields.key("p", contrast.p, probability("probability of a change at all"));
  fields.key("channel_p", contrast.channel_p, probability("then, that a channel has it"));
  fields.key("factor", contrast.factor, {.doc = "least and most", .min = 0.0, .max = 1e6});
  fields.key("preserve_range", contrast.preserve_range,
             {.doc = "no value leaves the channel's former range"});
}

void describe(Fields& fields, VolumeLowResolution& low) {
  fields.key("p", low.p, probability("probability of a change at all"));
  fields.key("channel_p", low.channel_p, probability("then, that a channel has it"));
  fields.key("zoom", low.zoom,
             {.doc = "least and most, the same along all axes", .min = 0.01, .max = 1.0});
  fields.key("keep_depth", low.keep_depth, {.doc = "not along z, for patches of thick slices"});
}

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

AugmentRow volume_noise() {
  return volume_row<VolumeNoise>(
      {.name = "volume_noise", .doc = "normal noise added to a volume", .main = "p"});
}

AugmentRow volume_blur() {
  return volume_row<VolumeBlur>(
      {.name = "volume_blur",
       .doc = "a volume smoothed by Gaussians, of another deviation for each channel and axis",
       .main = "p"});
}

AugmentRow volume_brightness() {
  return volume_row<VolumeBrightness>({.name = "volume_brightness",
                                       .doc = "each channel of a volume multiplied by a factor",
                                       .main = "p"});
}

AugmentRow volume_contrast() {
  return volume_row<VolumeContrast>(
      {.name = "volume_contrast",
       .doc = "each value's distance to its channel's mean multiplied by a factor",
       .main = "p"});
}

AugmentRow volume_low_resolution() {
  return volume_row<VolumeLowResolution>(
      {.name = "volume_low_resolution",
       .doc = "channels of a volume made smaller and as large again",
       .main = "p"});
}

AugmentRow volume_gamma() {
  return volume_row<VolumeGamma>(
      {.name = "volume_gamma",
       .doc = "values of each channel, taken from 0 to 1, raised to a power",
       .main = "p"});
}

namespace {

template <class Part>
void part(Fields& fields, std::string name, Part& part) {
  fields.section(std::move(name), [&part](Fields& f) { describe(f, part); }, {.main = "p"});
}

/// For patches that are made on a device the draws travel with the batch.
void add_intensity(NnUNetIntensity op, AugmentBuilder& builder) {
  op.field = builder.volume();
  if (!builder.context().patch_on_device) return builder.on_samples(std::move(op));
  const DrawNnUNetIntensity draw{.augment = op, .shape = builder.fields().at(op.field).shape};
  require_new_fields(draw.schema(builder.fields()), 1, builder);
  builder.draws_on_samples(draw);
  builder.on_batches(ApplyNnUNetIntensity{op});
}

}  // namespace

AugmentRow nnunet_intensity() {
  return augment_row<NnUNetIntensity>(
      {.name = "nnunet_intensity",
       .doc = "nnU-Net's noise, blur, brightness, contrast, low resolution and gamma of a volume, "
              "in few passes; a part with p 0 is left out",
       .on_device = true},
      [](Fields& fields, NnUNetIntensity& op) {
        part(fields, "noise", op.noise);
        part(fields, "blur", op.blur);
        part(fields, "brightness", op.brightness);
        part(fields, "contrast", op.contrast);
        part(fields, "low_resolution", op.low_resolution);
        part(fields, "gamma_inverted", op.gamma_inverted);
        part(fields, "gamma", op.gamma);
      },
      add_intensity);
}

}  // namespace headrace::inline v1::app::operations
