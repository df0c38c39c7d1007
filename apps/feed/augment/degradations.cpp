#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/degrade.h>
#include <headrace/augment/gaussian_blur.h>
#include <headrace/augment/gaussian_noise.h>
#include <headrace/augment/motion_blur.h>
#include <headrace/augment/random_erasing.h>

namespace headrace::inline v1::app::operations {

AugmentRow random_erasing() {
  return augment_row<RandomErasing>(
      {.name = "random_erasing", .doc = "a random rectangle erased", .main = "p"},
      [](Fields& fields, RandomErasing& erase) {
        fields.key("p", erase.p, probability("probability"));
        fields.key(
            "scale", erase.scale,
            {.doc = "least and most area, as a share of the picture's", .min = 0.0, .max = 1.0});
        fields.key("ratio", erase.ratio, {.doc = "least and most height / width", .above = 0.0});
        fields.key("value", erase.value, level("one, or one a channel"));
        fields.key("noise", erase.noise, {.doc = "normal noise instead of the value"});
        const auto noise = [&erase](std::string doc) {
          KeyOptions options{.doc = std::move(doc), .unit = "level", .min = 0.0};
          options.used_if = [&erase] { return erase.noise; };
          options.used_when = "noise is true";
          return options;
        };
        fields.key("noise_mean", erase.noise_mean, noise("one, or one a channel"));
        fields.key("noise_deviation", erase.noise_deviation, noise("likewise"));
      },
      add_to_picture<RandomErasing>);
}

namespace {

struct Blur {
  int kernel = 3;
  std::array<double, 2> sigma{0.1, 2.0};
  double p = 1.0;
};

}  // namespace

AugmentRow gaussian_blur() {
  return augment_row<Blur>(
      {.name = "gaussian_blur", .doc = "smoothed by a Gaussian", .main = "kernel"},
      [](Fields& fields, Blur& blur) {
        fields.key("kernel", blur.kernel,
                   {.doc = "side, odd", .unit = "pixels", .min = 1.0, .max = 127.0});
        fields.key("sigma", blur.sigma,
                   {.doc = "least and most deviation", .unit = "pixels", .above = 0.0});
        fields.key("p", blur.p, probability("probability"));
      },
      [](const Blur& blur, AugmentBuilder& builder) {
        add_to_picture(
            GaussianBlur{
                .height = blur.kernel, .width = blur.kernel, .sigma = blur.sigma, .p = blur.p},
            builder);
      });
}

AugmentRow gaussian_noise() {
  return augment_row<GaussianNoise>(
      {.name = "gaussian_noise", .doc = "normal noise on every value", .main = "sigma"},
      [](Fields& fields, GaussianNoise& noise) {
        fields.key("sigma", noise.sigma, level("least and most deviation"));
        fields.key("p", noise.p, probability("probability"));
      },
      add_to_picture<GaussianNoise>);
}

AugmentRow motion_blur() {
  return augment_row<MotionBlur>(
      {.name = "motion_blur", .doc = "smeared along a line of any direction", .main = "length"},
      [](Fields& fields, MotionBlur& motion) {
        fields.key(
            "length", motion.length,
            {.doc = "least and most of the line", .unit = "pixels", .min = 1.0, .max = 63.0});
        fields.key("p", motion.p, probability("probability"));
      },
      add_to_picture<MotionBlur>);
}

namespace {

void describe_weight(Fields& fields, double& weight) {
  fields.key("weight", weight,
             {.doc = "how often beside the others; 0: never", .min = 0.0, .max = 1000.0});
}

void describe_blur(Fields& fields, Degrade& degrade) {
  describe_weight(fields, degrade.blur_weight);
  fields.key("kernel", degrade.blur.height,
             {.doc = "side, odd", .unit = "pixels", .min = 1.0, .max = 127.0});
  fields.key("sigma", degrade.blur.sigma,
             {.doc = "least and most deviation", .unit = "pixels", .above = 0.0});
}

void add_degrade(Degrade degrade, AugmentBuilder& builder) {
  degrade.blur.width = degrade.blur.height;
  for (std::string* field : {&degrade.noise.field, &degrade.blur.field, &degrade.motion.field})
    *field = builder.picture();
  builder.on_samples(std::move(degrade));
}

}  // namespace

AugmentRow degrade() {
  return augment_row<Degrade>(
      {.name = "degrade",
       .doc = "one of noise, blur and motion blur, drawn by weights",
       .main = "p"},
      [](Fields& fields, Degrade& degrade) {
        fields.key("p", degrade.p, probability("probability of one of them"));
        fields.section("noise",
                       [&degrade](Fields& f) {
                         describe_weight(f, degrade.noise_weight);
                         f.key("sigma", degrade.noise.sigma, level("least and most deviation"));
                       },
                       {.main = "weight"});
        fields.section("blur", [&degrade](Fields& f) { describe_blur(f, degrade); },
                       {.main = "weight"});
        fields.section(
            "motion",
            [&degrade](Fields& f) {
              describe_weight(f, degrade.motion_weight);
              f.key(
                  "length", degrade.motion.length,
                  {.doc = "least and most of the line", .unit = "pixels", .min = 1.0, .max = 63.0});
            },
            {.main = "weight"});
      },
      add_degrade);
}

}  // namespace headrace::inline v1::app::operations
