#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/nnunet_intensity_batch.h>

namespace headrace::inline v1::app::operations {
namespace {

template <class Part>
void part(Fields& fields, std::string name, Part& part) {
  fields.section(std::move(name), [&part](Fields& f) { describe(f, part); }, {.main = "p"});
}

/// For patches that are made on a device the draws travel with the batch.
void add_intensity(NnUNetIntensity op, AugmentBuilder& builder) {
  op.field = builder.volume();
  if (!builder.context().patch_on_device) return builder.on_samples(std::move(op));
  const DrawNnUNetIntensity draw{.augment = op, .shape = builder.fields().at(op.field).shape};
  require_new_fields(draw.schema(builder.fields()), 1, builder);
  builder.draws_on_samples(draw);
  builder.on_batches(ApplyNnUNetIntensity{op});
}

}  // namespace

AugmentRow nnunet_intensity() {
  return augment_row<NnUNetIntensity>(
      {.name = "nnunet_intensity",
       .doc = "nnU-Net's noise, blur, brightness, contrast, low resolution and gamma of a volume, "
              "in few passes; a part with p 0 is left out",
       .on_device = true},
      [](Fields& fields, NnUNetIntensity& op) {
        part(fields, "noise", op.noise);
        part(fields, "blur", op.blur);
        part(fields, "brightness", op.brightness);
        part(fields, "contrast", op.contrast);
        part(fields, "low_resolution", op.low_resolution);
        part(fields, "gamma_inverted", op.gamma_inverted);
        part(fields, "gamma", op.gamma);
      },
      add_intensity);
}

}  // namespace headrace::inline v1::app::operations
