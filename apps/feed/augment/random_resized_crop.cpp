#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/augment/size.h>
#include <headrace/loaders/image/crop_image.h>

namespace headrace::inline v1::app::operations {
namespace {

struct SizedRandomCrop {
  CropSize size{};
  RandomResizedCrop part{};
};

}  // namespace

AugmentRow random_resized_crop() {
  AugmentRow row = augment_row<SizedRandomCrop>(
      {.name = "random_resized_crop",
       .doc = "a random part, resized; where files are decoded no more than it is decoded",
       .main = "size"},
      [](Fields& fields, SizedRandomCrop& crop) {
        describe(fields, crop.size);
        fields.key(
            "scale", crop.part.scale,
            {.doc = "least and most area, as a share of the picture's", .above = 0.0, .max = 1.0});
        fields.key("ratio", crop.part.ratio,
                   {.doc = "least and most width / height", .above = 0.0});
      },
      [](const SizedRandomCrop& crop, AugmentBuilder& builder) {
        const auto flip = static_cast<float>(builder.take_flip());
        add_with_masks(
            CropImage{.crop = sized(crop.part, crop.size, builder.context()), .flip = flip},
            builder);
      });
  row.geometry = [](const std::any& held, const AugmentContext& context) -> ImageGeometry {
    const auto& crop = std::any_cast<const SizedRandomCrop&>(held);
    return sized(crop.part, crop.size, context);
  };
  return row;
}

}  // namespace headrace::inline v1::app::operations
