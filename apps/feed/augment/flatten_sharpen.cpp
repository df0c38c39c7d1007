#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/flatten_sharpen.h>

namespace headrace::inline v1::app::operations {

AugmentRow flatten_sharpen() {
  return augment_row<FlattenSharpen>(
      {.name = "flatten_sharpen",
       .doc = "an uneven background made 128, then brightness, contrast around 128 and sharpening",
       .main = "sharpness"},
      [](Fields& fields, FlattenSharpen& op) {
        fields.key("block", op.block,
                   {.doc = "side of the blocks whose means are the background",
                    .unit = "pixels",
                    .min = 2.0,
                    .max = 4096.0});
        fields.key("brightness", op.brightness,
                   {.doc = "that is added", .unit = "levels", .min = -255.0, .max = 255.0});
        fields.key("contrast", op.contrast,
                   {.doc = "factor of the distance from 128", .min = 0.0, .max = 16.0});
        fields.key("sharpness", op.sharpness,
                   {.doc = "weight a of the kernel [0, -a, 0; -a, 1 + 4a, -a; 0, -a, 0]",
                    .min = 0.0,
                    .max = 16.0});
      },
      add_to_picture<FlattenSharpen>);
}

}  // namespace headrace::inline v1::app::operations
