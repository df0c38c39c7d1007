#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/augment/size.h>
#include <headrace/augment/center_crop.h>

namespace headrace::inline v1::app::operations {

AugmentRow center_crop() {
  return augment_row<CropSize>(
      {.name = "center_crop", .doc = "the middle; smaller pictures are refused", .main = "size"},
      [](Fields& fields, CropSize& size) { describe(fields, size); },
      [](const CropSize& size, AugmentBuilder& builder) {
        add_with_masks(sized(CenterCrop{}, size, builder.context()), builder);
      });
}

}  // namespace headrace::inline v1::app::operations
