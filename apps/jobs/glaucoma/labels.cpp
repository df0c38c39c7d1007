#include <headrace/apps/jobs/glaucoma/labels.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>

#include <span>
#include <string>
#include <type_traits>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

enum class Kind : unsigned char { none, numbers, one_hot };

Kind kind_of(DType dtype, const Shape& row) {
  if (row == Shape{glaucoma_classes}) return Kind::one_hot;
  const bool single = row == Shape{} || row == Shape{1};
  return single && is_integer(dtype) ? Kind::numbers : Kind::none;
}

template <class T>
auto number(T value) {
  if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>) {
    return to_float(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else {
    return value;
  }
}

template <class T>
std::int64_t class_in_number(std::span<const T> values) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (values[0] >= T{0} && values[0] < T{glaucoma_classes})
      return static_cast<std::int64_t>(values[0]);
  }
  throw DataError(fmt::format("labels must be class numbers from 0 to {}, got {}",
                              glaucoma_classes - 1, number(values[0])));
}

template <class T>
std::int64_t class_in_one_hot(std::span<const T> values) {
  std::int64_t place = -1;
  std::int64_t zeros = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (number(values[i]) == 1) place = static_cast<std::int64_t>(i);
    if (number(values[i]) == 0) ++zeros;
  }
  if (place >= 0 && zeros == glaucoma_classes - 1) return place;
  std::string row;
  for (const T& value : values)
    row += fmt::format("{}{}", row.empty() ? "" : ", ", number(value));
  throw DataError(fmt::format("labels must be one-hot, a 1 among zeros, got [{}]", row));
}

template <class T>
std::int64_t class_in(const Tensor& label, Kind kind) {
  const std::span<const T> values = label.values<T>();
  return kind == Kind::numbers ? class_in_number(values) : class_in_one_hot(values);
}

std::int64_t class_in(const Tensor& label, Kind kind) {
  switch (label.dtype()) {
    case DType::uint8:
      return class_in<std::uint8_t>(label, kind);
    case DType::int8:
      return class_in<std::int8_t>(label, kind);
    case DType::uint16:
      return class_in<std::uint16_t>(label, kind);
    case DType::int16:
      return class_in<std::int16_t>(label, kind);
    case DType::uint32:
      return class_in<std::uint32_t>(label, kind);
    case DType::int32:
      return class_in<std::int32_t>(label, kind);
    case DType::uint64:
      return class_in<std::uint64_t>(label, kind);
    case DType::int64:
      return class_in<std::int64_t>(label, kind);
    case DType::float16:
      return class_in<float16_t>(label, kind);
    case DType::bfloat16:
      return class_in<bfloat16_t>(label, kind);
    case DType::float32:
      return class_in<float>(label, kind);
    case DType::float64:
      return class_in<double>(label, kind);
    case DType::boolean:
      return class_in<bool>(label, kind);
  }
  throw DataError("labels are of an unknown type");
}

}  // namespace

bool are_glaucoma_labels(const FieldSpec& labels) {
  return labels.kind == FieldSpec::Kind::fixed && kind_of(labels.dtype, labels.shape) != Kind::none;
}

std::int64_t class_of(const Tensor& label) {
  const Kind kind = kind_of(label.dtype(), label.shape());
  if (kind == Kind::none) {
    throw DataError(fmt::format("labels must be {}, got a row {} {}", glaucoma_labels_rule,
                                name_of(label.dtype()), to_string(label.shape())));
  }
  return class_in(label, kind);
}

}  // namespace headrace::inline v1::app
