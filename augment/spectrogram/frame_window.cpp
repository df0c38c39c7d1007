#include <headrace/augment/spectrogram/frame_window.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace headrace::inline v1 {
namespace {

using Element = std::array<std::byte, 8>;

template <class T>
Element element_as(double value) {
  T typed{};
  if constexpr (std::is_same_v<T, bool>) {
    typed = value >= 0.5;
  } else if constexpr (std::is_integral_v<T>) {
    const double nearest = std::round(value);
    if (nearest >= static_cast<double>(std::numeric_limits<T>::max()))
      typed = std::numeric_limits<T>::max();
    else if (nearest <= static_cast<double>(std::numeric_limits<T>::min()))
      typed = std::numeric_limits<T>::min();
    else
      typed = static_cast<T>(nearest);
  } else if constexpr (std::is_same_v<T, double>) {
    typed = value;
  } else {
    from_float(static_cast<float>(value), typed);
  }
  Element bytes{};
  std::memcpy(bytes.data(), &typed, sizeof typed);
  return bytes;
}

// clang-format off
Element element_of(DType dtype, double value) {
  switch (dtype) {
    case DType::uint8: return element_as<std::uint8_t>(value);
    case DType::int8: return element_as<std::int8_t>(value);
    case DType::uint16: return element_as<std::uint16_t>(value);
    case DType::int16: return element_as<std::int16_t>(value);
    case DType::uint32: return element_as<std::uint32_t>(value);
    case DType::int32: return element_as<std::int32_t>(value);
    case DType::uint64: return element_as<std::uint64_t>(value);
    case DType::int64: return element_as<std::int64_t>(value);
    case DType::float16: return element_as<float16_t>(value);
    case DType::bfloat16: return element_as<bfloat16_t>(value);
    case DType::float32: return element_as<float>(value);
    case DType::float64: return element_as<double>(value);
    case DType::boolean: return element_as<bool>(value);
  }
  return {};
}
// clang-format on

Shape with_frames(Shape shape, std::int64_t frames) {
  shape.set(shape.rank() - 1, frames);
  return shape;
}

}  // namespace

Schema FrameWindow::schema(const Schema& in) const {
  const FieldSpec& spec = in.at(field, name());
  if (frames < 1)
    throw ConfigError("[frame window] frames must be at least 1, got " + std::to_string(frames));
  if (spec.kind == FieldSpec::Kind::ragged || spec.shape.rank() < 2)
    throw ConfigError("[frame window] field \"" + field +
                      "\" must be a spectrogram [..., bins, frames], got " + to_string(spec));
  Schema out = in;
  out.put(FieldSpec::fixed(field, spec.dtype, with_frames(spec.shape, frames)));
  return out;
}

void FrameWindow::operator()(Sample& sample, Random& draws) const {
  const Tensor from = sample[field];
  const Shape& shape = from.shape();
  if (shape.rank() < 2)
    throw DataError("field \"" + field + "\" must be a spectrogram [..., bins, frames], got " +
                    to_string(shape));
  const std::int64_t length = shape[shape.rank() - 1];
  const std::int64_t spare = length - frames;
  // Drawn for every sample, so that its length changes no other draw.
  const double place = random ? draws.uniform() : 0.5;
  const std::int64_t first =
      spare > 0 ? std::min(spare, static_cast<std::int64_t>(place * static_cast<double>(spare + 1)))
                : 0;
  Tensor& to = sample.make(field, from.dtype(), with_frames(shape, frames));
  const std::size_t width = size_of(from.dtype());
  const auto kept = static_cast<std::size_t>(std::min(length, frames)) * width;
  const auto whole = static_cast<std::size_t>(frames) * width;
  const Element padding = element_of(from.dtype(), fill);
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  const std::int64_t lines = length > 0 ? shape.elements() / length : 0;
  for (std::int64_t line = 0; line < lines; ++line) {
    std::byte* row = target + static_cast<std::size_t>(line) * whole;
    std::memcpy(row, source + static_cast<std::size_t>(line * length + first) * width, kept);
    for (std::size_t at = kept; at < whole; at += width)
      std::memcpy(row + at, padding.data(), width);
  }
}

}  // namespace headrace::inline v1
