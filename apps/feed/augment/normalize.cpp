#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/normalize.h>

namespace headrace::inline v1::app::operations {

AugmentRow normalize() {
  AugmentRow row = augment_row<Normalize>(
      {.name = "normalize",
       .doc = "(v / 255 - mean) / std in a floating type",
       .on = AugmentOn::batches,
       .normalizes = true},
      [](Fields& fields, Normalize& normalize) {
        fields.key("mean", normalize.mean, {.doc = "one, or one a channel, of values in 0 to 1"});
        fields.key("std", normalize.std, {.doc = "as many", .above = 0.0});
        fields.choice("dtype", normalize.dtype,
                      {{"float32", DType::float32},
                       {"float16", DType::float16},
                       {"bfloat16", DType::bfloat16}},
                      {.doc = "of the result"});
        fields.choice("layout", normalize.layout,
                      {{"channels-first", Normalize::Layout::channels_first},
                       {"channels-last", Normalize::Layout::channels_last}},
                      {.doc = "of the result"});
      },
      [](Normalize normalize, AugmentBuilder& builder) {
        if (builder.context().normalized) {
          throw ConfigError("is not for this job, which normalises its pictures itself; remove it");
        }
        normalize.field = builder.picture();
        builder.on_batches(std::move(normalize));
      });
  row.make = [] { return std::any(Normalize::imagenet()); };
  return row;
}

}  // namespace headrace::inline v1::app::operations
