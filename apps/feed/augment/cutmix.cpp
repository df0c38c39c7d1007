#include <headrace/apps/feed/augment/mix.h>
#include <headrace/apps/feed/augment/operation.h>

namespace headrace::inline v1::app::operations {

AugmentRow cutmix() {
  return augment_row<Mix>(
      {.name = "cutmix",
       .doc = "CutMix: a box of the partner's picture pasted in, labels by area",
       .main = "alpha",
       .on = AugmentOn::batches},
      [](Fields& fields, Mix& mix) {
        fields.key("alpha", mix.op.cutmix_alpha, beta_parameter());
        describe(fields, mix);
      },
      [](Mix mix, AugmentBuilder& builder) {
        mix.op.mixup_alpha = 0.0;
        add(mix, builder);
      });
}

}  // namespace headrace::inline v1::app::operations
