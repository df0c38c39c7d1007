#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/motion_blur.h>

namespace headrace::inline v1::app::operations {

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

}  // namespace headrace::inline v1::app::operations
