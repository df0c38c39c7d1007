#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/rand_augment.h>

namespace headrace::inline v1::app::operations {

AugmentRow rand_augment() {
  return augment_row<RandAugment>(
      {.name = "rand_augment",
       .doc = "RandAugment: operations drawn from a list of 14",
       .main = "magnitude"},
      [](Fields& fields, RandAugment& rand) {
        fields.key("ops", rand.ops, {.doc = "operations a picture", .min = 0.0, .max = 100.0});
        fields.key("magnitude", rand.magnitude, {.doc = "strength, below bins", .min = 0.0});
        fields.key("bins", rand.bins, {.doc = "strengths there are", .min = 2.0, .max = 1000.0});
        describe(fields, rand.interpolation);
        fields.key("fill", rand.fill, level("where nothing of the picture is; null: black"));
        fields.key("mask_fill", rand.mask_fill, {.doc = "label where nothing of the mask is"});
      },
      add_with_masks<RandAugment>);
}

}  // namespace headrace::inline v1::app::operations
