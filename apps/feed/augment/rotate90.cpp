#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/rotate90.h>

namespace headrace::inline v1::app::operations {

AugmentRow rotate90() {
  return augment_row<Rotate90>(
      {.name = "rotate90",
       .doc = "turned by 90, 180 or 270 degrees, each as likely; for square pictures",
       .main = "p"},
      [](Fields& fields, Rotate90& rotate) {
        fields.key("p", rotate.p, probability("probability of turning at all"));
      },
      add_with_masks<Rotate90>);
}

}  // namespace headrace::inline v1::app::operations
