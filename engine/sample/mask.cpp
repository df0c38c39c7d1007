#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/mask.h>

namespace headrace::inline v1 {
namespace {

bool holds_labels(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint16;
}

}  // namespace

void check_masks(const Schema& in, const FieldSpec& picture, std::span<const std::string> masks,
                 const std::string& who) {
  for (const std::string& name : masks) {
    const FieldSpec& mask = in.at(name, who);
    if (holds_labels(mask.dtype) && mask.kind == picture.kind && mask.shape.rank() == 2 &&
        mask.shape[0] == picture.shape[0] && mask.shape[1] == picture.shape[1]) {
      continue;
    }
    throw ConfigError("[" + who + "] mask \"" + name +
                      "\" must be uint8 or uint16 [height, width] with the sides of " +
                      to_string(picture) + ", got " + to_string(mask) +
                      "; name it in the masks of every step since the decode");
  }
}

Schema with_sides(const Schema& in, const std::string& field, std::span<const std::string> masks,
                  std::int64_t height, std::int64_t width) {
  Schema out = in;
  const FieldSpec& picture = in.at(field);
  out.put(FieldSpec::fixed(field, picture.dtype, Shape{height, width, picture.shape[2]}));
  for (const std::string& mask : masks)
    out.put(FieldSpec::fixed(mask, in.at(mask).dtype, Shape{height, width}));
  return out;
}

const Tensor& mask_of(const Sample& sample, const std::string& name, std::int64_t height,
                      std::int64_t width) {
  const Tensor& mask = sample[name];
  if (holds_labels(mask.dtype()) && mask.shape() == Shape{height, width}) return mask;
  throw DataError("mask \"" + name + "\" must be uint8 or uint16 " +
                  to_string(Shape{height, width}) + " as its picture is, got " +
                  std::string(name_of(mask.dtype())) + " " + to_string(mask.shape()));
}

}  // namespace headrace::inline v1
