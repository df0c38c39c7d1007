#include <headrace/augment/detail/picture.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/mask.h>

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

const FieldSpec& colour_field(const Schema& in, std::string_view field, const std::string& who) {
  const FieldSpec& image = picture_field(in, field, who);
  if (image.shape[2] == 1 || image.shape[2] == 3) return image;
  throw ConfigError("[" + who + "] field \"" + std::string(field) +
                    "\" must have 1 channel (grey) or 3 (red, green, blue), got " +
                    to_string(image));
}

const FieldSpec& masked_field(const Schema& in, std::string_view field,
                              std::span<const std::string> masks, const std::string& who) {
  const FieldSpec& image = picture_field(in, field, who);
  check_masks(in, image, masks, who);
  return image;
}

Picture picture_of(const Tensor& tensor, const std::string& field) {
  const Shape& shape = tensor.shape();
  if (shape.rank() != 3 || tensor.dtype() != DType::uint8) {
    throw DataError("field \"" + field + "\" must be uint8 [height, width, channels], got " +
                    std::string(name_of(tensor.dtype())) + " " + to_string(shape));
  }
  return {tensor.data<std::uint8_t>(), shape[0], shape[1], shape[2]};
}

Picture colours_of(const Tensor& tensor, const std::string& field) {
  const Picture picture = picture_of(tensor, field);
  if (picture.channels == 1 || picture.channels == 3) return picture;
  throw DataError("field \"" + field + "\" must have 1 or 3 channels, got " +
                  to_string(tensor.shape()));
}

void check_probability(double p, const std::string& who, const char* name) {
  if (p >= 0 && p <= 1) return;
  throw ConfigError("[" + who + "] " + name + " must be a probability, got " + std::to_string(p));
}

void check_span(const std::array<double, 2>& range, const std::array<double, 2>& limits,
                const std::string& who, const char* name) {
  if (range[0] >= limits[0] && range[0] <= range[1] && range[1] <= limits[1]) return;
  throw ConfigError("[" + who + "] " + name + " must be least <= most within " +
                    std::to_string(limits[0]) + " to " + std::to_string(limits[1]) + ", got " +
                    std::to_string(range[0]) + ", " + std::to_string(range[1]));
}

double draw_uniform(const std::array<double, 2>& range, Random& random) {
  return range[0] + (range[1] - range[0]) * random.uniform();
}

}  // namespace headrace::inline v1::detail
