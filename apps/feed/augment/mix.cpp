#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/mix.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct Mix {
  MixBatch op{};
  bool soft_labels = false;
};

// Limits of a parameter of the Beta distribution.
KeyOptions beta_parameter() {
  return {.doc = "of the Beta distribution of lambda", .above = 0.0, .max = 1000.0};
}

// The parameters that Mixup and CutMix share.
void describe(Fields& fields, Mix& mix) {
  fields.key("p", mix.op.p, probability("probability that a group is mixed"));
  fields.key("group", mix.op.group,
             {.doc = "that partners are of; divides a rank's share of a batch",
              .unit = "rows",
              .min = 2.0,
              .max = 65536.0});
  fields.key("soft_labels", mix.soft_labels,
             {.doc = "label becomes a row of shares; else lambda and label_partner are added"});
  KeyOptions smoothing = probability("of soft labels");
  smoothing.used_if = [&mix] { return mix.soft_labels; };
  smoothing.used_when = "soft_labels is true";
  fields.key("smoothing", mix.op.smoothing, smoothing);
}

// Throws ConfigError for what cannot be mixed.
void add(Mix mix, AugmentBuilder& builder) {
  const AugmentContext& context = builder.context();
  if (context.device.is_cuda()) {
    throw ConfigError("works in host memory, but these batches are delivered to " +
                      to_string(context.device) + "; remove it, or run on the CPU");
  }
  if (context.batch % mix.op.group != 0) {
    throw ConfigError(
        fmt::format("group must divide {}, got group {} and {} {}; change one of them",
                    context.batch_key, mix.op.group, context.batch_key, context.batch));
  }
  if (mix.soft_labels) {
    if (context.classes == 0)
      throw ConfigError("cannot make soft labels: how many classes there are is not known");
    mix.op.classes = static_cast<int>(context.classes);
  }
  const bool arrays = !context.mixes.empty() && mix.op.cutmix_alpha == 0.0;
  mix.op.field = arrays ? context.mixes : builder.picture();
  builder.on_batches(mix.op);
}

}  // namespace

}  // namespace headrace::inline v1::app

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
