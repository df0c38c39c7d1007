#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/augment/size.h>
#include <headrace/loaders/image/crop_image.h>

namespace headrace::inline v1::app::operations {
namespace {

struct SizedCenterCrop {
  CropSize size{};
  ResizedCenterCrop part{};
};

}  // namespace

AugmentRow resized_center_crop() {
  AugmentRow row = augment_row<SizedCenterCrop>(
      {.name = "resized_center_crop",
       .doc = "the shorter side resized, then the middle taken",
       .main = "size"},
      [](Fields& fields, SizedCenterCrop& crop) {
        describe(fields, crop.size);
        fields.key("resize", crop.part.resize,
                   {.doc = "of the shorter side", .unit = "pixels", .min = 1.0, .max = 65535.0});
      },
      [](const SizedCenterCrop& crop, AugmentBuilder& builder) {
        add_with_masks(CropImage{.crop = sized(crop.part, crop.size, builder.context())}, builder);
      });
  row.geometry = [](const std::any& held, const AugmentContext& context) -> ImageGeometry {
    const auto& crop = std::any_cast<const SizedCenterCrop&>(held);
    return sized(crop.part, crop.size, context);
  };
  return row;
}

}  // namespace headrace::inline v1::app::operations
