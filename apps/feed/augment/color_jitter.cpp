#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/color_jitter.h>

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

}  // namespace headrace::inline v1::app::operations
