#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/flip.h>

namespace headrace::inline v1::app::operations {

AugmentRow vertical_flip() {
  return augment_row<VerticalFlip>(
      {.name = "vertical_flip", .doc = "top and bottom exchanged", .main = "p"},
      [](Fields& fields, VerticalFlip& flip) {
        fields.key("p", flip.p, probability("probability"));
      },
      add_with_masks<VerticalFlip>);
}

}  // namespace headrace::inline v1::app::operations
