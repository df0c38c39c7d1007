#include <headrace/apps/feed/augment/mix.h>
#include <headrace/apps/feed/augment/size.h>

#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, Interpolation& interpolation) {
  fields.choice("interpolation", interpolation,
                {{"nearest", Interpolation::nearest}, {"bilinear", Interpolation::bilinear}},
                {.doc = "of pixels; of masks it is always nearest"});
}

KeyOptions probability(std::string doc) {
  return {.doc = std::move(doc), .min = 0.0, .max = 1.0};
}

KeyOptions level(std::string doc) {
  return {.doc = std::move(doc), .unit = "level", .min = 0.0, .max = 255.0};
}

void describe(Fields& fields, CropSize& size) {
  const auto pixels = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .unit = "pixels", .min = 0.0, .max = 65535.0};
  };
  fields.key("size", size.size, pixels("of both sides; 0: image.side, else the picture's own"));
  fields.key("height", size.height, pixels("0: size"));
  fields.key("width", size.width, pixels("0: size"));
}

std::array<int, 2> size_of(const CropSize& size, const AugmentContext& context) {
  const auto side = [&size](int own, int usual) {
    if (own > 0) return own;
    return size.size > 0 ? size.size : usual;
  };
  return {side(size.height, context.height), side(size.width, context.width)};
}

KeyOptions beta_parameter() {
  return {.doc = "of the Beta distribution of lambda", .above = 0.0, .max = 1000.0};
}

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

}  // namespace headrace::inline v1::app
