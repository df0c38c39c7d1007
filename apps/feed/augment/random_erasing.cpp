#include <headrace/apps/feed/augment/operation.h>
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

}  // namespace headrace::inline v1::app::operations
