#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/clahe.h>
#include <headrace/augment/color_jitter.h>
#include <headrace/augment/flatten_sharpen.h>
#include <headrace/augment/normalize.h>

namespace headrace::inline v1::app::operations {
namespace {

/// As torchvision takes them.
struct Strength {
  double brightness = 0.0;
  double contrast = 0.0;
  double saturation = 0.0;
  double hue = 0.0;
  double p = 1.0;
};

}  // namespace

AugmentRow color_jitter() {
  return augment_row<Strength>(
      {.name = "color_jitter",
       .doc = "brightness, contrast, saturation and hue changed in random order"},
      [](Fields& fields, Strength& strength) {
        const auto factor = [](std::string doc) {
          return KeyOptions{.doc = std::move(doc), .min = 0.0, .max = 100.0};
        };
        fields.key("brightness", strength.brightness, factor("b: factors from 1 - b to 1 + b"));
        fields.key("contrast", strength.contrast, factor("likewise"));
        fields.key("saturation", strength.saturation, factor("likewise"));
        fields.key("hue", strength.hue,
                   {.doc = "either way, as a share of the circle", .min = 0.0, .max = 0.5});
        fields.key("p", strength.p, probability("probability of doing anything"));
      },
      [](const Strength& strength, AugmentBuilder& builder) {
        ColorJitter jitter = ColorJitter::by(strength.brightness, strength.contrast,
                                             strength.saturation, strength.hue);
        jitter.p = strength.p;
        add_to_picture(std::move(jitter), builder);
      });
}

AugmentRow clahe() {
  return augment_row<Clahe>(
      {.name = "clahe", .doc = "local contrast of the lightness raised", .main = "clip_limit"},
      [](Fields& fields, Clahe& clahe) {
        fields.key("clip_limit", clahe.clip_limit,
                   {.doc = "most times a bin's fair share; 0: no limit", .min = 0.0, .max = 1e6});
        fields.key("tiles_high", clahe.tiles_high, {.doc = "tiles", .min = 1.0, .max = 64.0});
        fields.key("tiles_wide", clahe.tiles_wide, {.doc = "tiles", .min = 1.0, .max = 64.0});
      },
      add_to_picture<Clahe>);
}

AugmentRow flatten_sharpen() {
  return augment_row<FlattenSharpen>(
      {.name = "flatten_sharpen",
       .doc = "an uneven background made 128, then brightness, contrast around 128 and sharpening",
       .main = "sharpness"},
      [](Fields& fields, FlattenSharpen& op) {
        fields.key("block", op.block,
                   {.doc = "side of the blocks whose means are the background",
                    .unit = "pixels",
                    .min = 2.0,
                    .max = 4096.0});
        fields.key("brightness", op.brightness,
                   {.doc = "that is added", .unit = "levels", .min = -255.0, .max = 255.0});
        fields.key("contrast", op.contrast,
                   {.doc = "factor of the distance from 128", .min = 0.0, .max = 16.0});
        fields.key("sharpness", op.sharpness,
                   {.doc = "weight a of the kernel [0, -a, 0; -a, 1 + 4a, -a; 0, -a, 0]",
                    .min = 0.0,
                    .max = 16.0});
      },
      add_to_picture<FlattenSharpen>);
}

AugmentRow normalize() {
  AugmentRow row = augment_row<Normalize>(
      {.name = "normalize",
       .doc = "(v / 255 - mean) / std in a floating type",
       .on = AugmentOn::batches,
       .normalizes = true},
      [](Fields& fields, Normalize& normalize) {
        fields.key("mean", normalize.mean, {.doc = "one, or one a channel, of values in 0 to 1"});
        fields.key("std", normalize.std, {.doc = "as many", .above = 0.0});
        fields.choice("dtype", normalize.dtype,
                      {{"float32", DType::float32},
                       {"float16", DType::float16},
                       {"bfloat16", DType::bfloat16}},
                      {.doc = "of the result"});
        fields.choice("layout", normalize.layout,
                      {{"channels-first", Normalize::Layout::channels_first},
                       {"channels-last", Normalize::Layout::channels_last}},
                      {.doc = "of the result"});
      },
      [](Normalize normalize, AugmentBuilder& builder) {
        if (builder.context().normalized) {
          throw ConfigError("is not for this job, which normalises its pictures itself; remove it");
        }
        normalize.field = builder.picture();
        builder.on_batches(std::move(normalize));
      });
  row.make = [] { return std::any(Normalize::imagenet()); };
  return row;
}

}  // namespace headrace::inline v1::app::operations
