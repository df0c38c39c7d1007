#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/rotate.h>

namespace headrace::inline v1::app::operations {

AugmentRow rotate() {
  AugmentRow row = augment_row<Rotate>(
      {.name = "rotate", .doc = "turned about its centre; size kept", .main = "degrees"},
      [](Fields& fields, Rotate& rotate) {
        fields.key(
            "degrees", rotate.degrees,
            {.doc = "largest angle either way", .unit = "degrees", .min = 0.0, .max = 360.0});
        describe(fields, rotate.interpolation);
        fields.key("fill", rotate.fill, level("where nothing of the picture is"));
        fields.key("mask_fill", rotate.mask_fill, {.doc = "label where nothing of the mask is"});
      },
      add_with_masks<Rotate>);
  row.make = [] { return std::any(Rotate{.interpolation = Interpolation::bilinear}); };
  return row;
}

}  // namespace headrace::inline v1::app::operations
