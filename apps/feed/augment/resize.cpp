#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/augment/size.h>
#include <headrace/loaders/image/resize_image.h>

namespace headrace::inline v1::app::operations {

AugmentRow resize() {
  AugmentRow row = augment_row<CropSize>(
      {.name = "resize", .doc = "the whole picture, whatever its ratio", .main = "size"},
      [](Fields& fields, CropSize& size) { describe(fields, size); },
      [](const CropSize& size, AugmentBuilder& builder) {
        add_with_masks(sized(Resize{}, size, builder.context()), builder);
      });
  row.geometry = [](const std::any& held, const AugmentContext& context) -> ImageGeometry {
    return sized(ResizeTo{}, std::any_cast<const CropSize&>(held), context);
  };
  return row;
}

}  // namespace headrace::inline v1::app::operations
