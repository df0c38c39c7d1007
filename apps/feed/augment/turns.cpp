#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/affine.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/rotate.h>
#include <headrace/augment/rotate90.h>

namespace headrace::inline v1::app::operations {

AugmentRow flip() {
  return augment_row<HorizontalFlip>(
      {.name = "flip", .doc = "left and right exchanged", .main = "p"},
      [](Fields& fields, HorizontalFlip& flip) {
        fields.key("p", flip.p, probability("probability"));
      },
      add_with_masks<HorizontalFlip>);
}

AugmentRow vertical_flip() {
  return augment_row<VerticalFlip>(
      {.name = "vertical_flip", .doc = "top and bottom exchanged", .main = "p"},
      [](Fields& fields, VerticalFlip& flip) {
        fields.key("p", flip.p, probability("probability"));
      },
      add_with_masks<VerticalFlip>);
}

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
