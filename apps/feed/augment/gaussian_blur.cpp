#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/gaussian_blur.h>

namespace headrace::inline v1::app::operations {
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

}  // namespace headrace::inline v1::app::operations
