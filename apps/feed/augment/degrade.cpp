#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/degrade.h>

namespace headrace::inline v1::app::operations {
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
