#include <headrace/apps/task/picture_size.h>
#include <headrace/loaders/image/image_decoder.h>

#include <cstdint>

namespace headrace::inline v1::app {

Schema PictureSize::schema(const Schema& in) const {
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::int64, Shape{2}));
  return out;
}

void PictureSize::operator()(Sample& sample) const {
  const ImageHeader header = ImageDecoder::this_thread().open(sample["image"].as_bytes());
  auto* size = sample.make(field, DType::int64, Shape{2}).data<std::int64_t>();
  size[0] = header.shown_height();
  size[1] = header.shown_width();
}

}  // namespace headrace::inline v1::app
