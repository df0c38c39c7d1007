#include <headrace/apps/feed/augment/mix.h>
#include <headrace/apps/feed/augment/operation.h>

namespace headrace::inline v1::app::operations {

AugmentRow mixup_or_cutmix() {
  return augment_row<Mix>(
      {.name = "mixup_or_cutmix",
       .doc = "one of the two, drawn for each group",
       .main = "cutmix_share",
       .on = AugmentOn::batches},
      [](Fields& fields, Mix& mix) {
        fields.key("mixup_alpha", mix.op.mixup_alpha, beta_parameter());
        fields.key("cutmix_alpha", mix.op.cutmix_alpha, beta_parameter());
        fields.key("cutmix_share", mix.op.cutmix_share, probability("probability of CutMix"));
        describe(fields, mix);
      },
      add);
}

}  // namespace headrace::inline v1::app::operations
