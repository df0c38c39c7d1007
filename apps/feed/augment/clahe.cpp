#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/clahe.h>

namespace headrace::inline v1::app::operations {

AugmentRow clahe() {
  return augment_row<Clahe>(
      {.name = "clahe", .doc = "local contrast of the lightness raised", .main = "clip_limit"},
      [](Fields& fields, Clahe& clahe) {
        fields.key("clip_limit", clahe.clip_limit,
                   {.doc = "most times a bin's fair share; 0: no limit", .min = 0.0, .max = 1e6});
        fields.key("tiles_high", clahe.tiles_high, {.doc = "tiles", .min = 1.0, .max = 64.0});
        fields.key("tiles_wide", clahe.tiles_wide, {.doc = "tiles", .min = 1.0, .max = 64.0});
      },
      add_to_picture<Clahe>);
}

}  // namespace headrace::inline v1::app::operations
