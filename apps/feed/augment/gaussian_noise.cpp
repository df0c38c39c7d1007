#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/gaussian_noise.h>

namespace headrace::inline v1::app::operations {

AugmentRow gaussian_noise() {
  return augment_row<GaussianNoise>(
      {.name = "gaussian_noise", .doc = "normal noise on every value", .main = "sigma"},
      [](Fields& fields, GaussianNoise& noise) {
        fields.key("sigma", noise.sigma, level("least and most deviation"));
        fields.key("p", noise.p, probability("probability"));
      },
      add_to_picture<GaussianNoise>);
}

}  // namespace headrace::inline v1::app::operations
