#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/affine.h>

namespace headrace::inline v1::app::operations {

AugmentRow affine() {
  AugmentRow row = augment_row<Affine>(
      {.name = "affine", .doc = "turned, moved, scaled and sheared in one pass; size kept"},
      [](Fields& fields, Affine& affine) {
        fields.key("degrees", affine.degrees,
                   {.doc = "least and most angle, clockwise", .unit = "degrees"});
        fields.key(
            "translate", affine.translate,
            {.doc = "most either way, as shares of width and height", .min = 0.0, .max = 1.0});
        fields.key("scale", affine.scale,
                   {.doc = "least and most factor", .min = 0.01, .max = 100.0});
        const auto shear = [](std::string doc) {
          return KeyOptions{.doc = std::move(doc), .unit = "degrees", .min = -80.0, .max = 80.0};
        };
        fields.key("shear_x", affine.shear_x, shear("least and most, of rows"));
        fields.key("shear_y", affine.shear_y, shear("least and most, of columns"));
        describe(fields, affine.interpolation);
        fields.key("fill", affine.fill, level("where nothing of the picture is"));
        fields.key("mask_fill", affine.mask_fill, {.doc = "label where nothing of the mask is"});
        fields.key("p", affine.p, probability("probability of doing anything"));
      },
      add_with_masks<Affine>);
  row.make = [] { return std::any(Affine{.interpolation = Interpolation::bilinear}); };
  return row;
}

}  // namespace headrace::inline v1::app::operations
