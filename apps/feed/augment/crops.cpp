#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/center_crop.h>
#include <headrace/loaders/image/crop_image.h>
#include <headrace/loaders/image/resize_image.h>

namespace headrace::inline v1::app {
namespace {

// Height and width of what a crop makes.
struct CropSize {
  int size = 0;    // of both sides; 0: the job's (image.side), else the picture's own
  int height = 0;  // 0: size
  int width = 0;
};

void describe(Fields& fields, CropSize& size) {
  const auto pixels = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .unit = "pixels", .min = 0.0, .max = 65535.0};
  };
  fields.key("size", size.size, pixels("of both sides; 0: image.side, else the picture's own"));
  fields.key("height", size.height, pixels("0: size"));
  fields.key("width", size.width, pixels("0: size"));
}

// Throws ConfigError where nothing says a size.
std::array<int, 2> size_of(const CropSize& size, const AugmentContext& context) {
  const auto side = [&size](int own, int usual) {
    if (own > 0) return own;
    return size.size > 0 ? size.size : usual;
  };
  return {side(size.height, context.height), side(size.width, context.width)};
}

// The operation or geometry with that height and width.
template <class Sized>
Sized sized(Sized part, const CropSize& size, const AugmentContext& context) {
  const auto [height, width] = size_of(size, context);
  part.height = height;
  part.width = width;
  return part;
}

template <class Part>
struct SizedCrop {
  CropSize size{};
  Part part{};
};

template <class Part>
ImageGeometry geometry_of(const std::any& held, const AugmentContext& context) {
  const auto& crop = std::any_cast<const SizedCrop<Part>&>(held);
  return sized(crop.part, crop.size, context);
}

}  // namespace

}  // namespace headrace::inline v1::app

namespace headrace::inline v1::app::operations {

AugmentRow random_resized_crop() {
  using SizedRandomCrop = SizedCrop<RandomResizedCrop>;
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
  row.geometry = geometry_of<RandomResizedCrop>;
  return row;
}

AugmentRow resized_center_crop() {
  using SizedCenterCrop = SizedCrop<ResizedCenterCrop>;
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
  row.geometry = geometry_of<ResizedCenterCrop>;
  return row;
}

AugmentRow center_crop() {
  return augment_row<CropSize>(
      {.name = "center_crop", .doc = "the middle; smaller pictures are refused", .main = "size"},
      [](Fields& fields, CropSize& size) { describe(fields, size); },
      [](const CropSize& size, AugmentBuilder& builder) {
        add_with_masks(sized(CenterCrop{}, size, builder.context()), builder);
      });
}

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
