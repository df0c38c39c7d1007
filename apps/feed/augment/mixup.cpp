#include <headrace/apps/feed/augment/mix.h>
#include <headrace/apps/feed/augment/operation.h>

namespace headrace::inline v1::app::operations {

AugmentRow mixup() {
  return augment_row<Mix>(
      {.name = "mixup",
       .doc = "Mixup: a picture and its label blended with its partner's",
       .main = "alpha",
       .on = AugmentOn::batches},
      [](Fields& fields, Mix& mix) {
        fields.key("alpha", mix.op.mixup_alpha, beta_parameter());
        describe(fields, mix);
      },
      [](Mix mix, AugmentBuilder& builder) {
        mix.op.cutmix_alpha = 0.0;
        add(mix, builder);
      });
}

}  // namespace headrace::inline v1::app::operations
