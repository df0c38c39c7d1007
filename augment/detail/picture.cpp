#include <headrace/augment/detail/picture.h>

#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

const FieldSpec& picture_field(const Schema& in, std::string_view field, const std::string& who) {
  const FieldSpec& image = in.at(field, who);
  if (image.dtype == DType::uint8 && image.shape.rank() == 3 &&
      image.kind != FieldSpec::Kind::ragged) {
    return image;
  }
  throw ConfigError("[" + who + "] field \"" + std::string(field) +
                    "\" must be uint8 [height, width, channels], got " + to_string(image) +
                    "; decode it first");
}

Picture picture_of(const Tensor& tensor, const std::string& field) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 3 || tensor.dtype() != DType::uint8) {
    throw DataError("field \"" + field + "\" must be uint8 [height, width, channels], got " +
                    std::string(name_of(tensor.dtype())) + " " + to_string(shape));
  }
  return {tensor.data<std::uint8_t>(), shape[0], shape[1], shape[2]};
}

}  // namespace headrace::inline v1::detail
