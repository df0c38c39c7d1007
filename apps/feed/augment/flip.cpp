#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/flip.h>

namespace headrace::inline v1::app::operations {

AugmentRow flip() {
  return augment_row<HorizontalFlip>(
      {.name = "flip", .doc = "left and right exchanged", .main = "p"},
      [](Fields& fields, HorizontalFlip& flip) {
        fields.key("p", flip.p, probability("probability"));
      },
      add_with_masks<HorizontalFlip>);
}

}  // namespace headrace::inline v1::app::operations
