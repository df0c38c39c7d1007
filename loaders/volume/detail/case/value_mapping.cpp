#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/case/value_mapping.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace headrace::inline v1::detail {
namespace {

template <class T>
inline constexpr bool is_float = !std::is_integral_v<T>;

bool is_whole(DType dtype) noexcept {
  return is_integer(dtype) || dtype == DType::boolean;
}

/// Calls each(i, number) for stored voxels.
template <class Each>
void for_numbers(std::span<const std::byte> stored, DType dtype, const Each& each) {
  visit_dtype(dtype, [&](auto element) {
    const std::byte* at = stored.data();
    const std::size_t count = stored.size() / sizeof element;
    for (std::size_t i = 0; i < count; ++i, at += sizeof element) {
      std::memcpy(&element, at, sizeof element);
      each(i, number_of(element));
    }
  });
}

template <class T>
void store(std::byte* to, std::size_t i, const T& element) noexcept {
  std::memcpy(to + i * sizeof element, &element, sizeof element);
}

/// To the nearest whole number, ties to even, of at most 2^51 in size: what is added leaves no bits
/// for a fraction.
double rounded(double value) noexcept {
  constexpr double shift = 0x1.8p52;
  return (value + shift) - shift;
}

template <class T>
T to_whole(double number) noexcept {
  constexpr auto low = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr auto high = static_cast<double>(std::numeric_limits<T>::max());
  if (!(number > low)) return std::numeric_limits<T>::lowest();
  if (number >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(number);
}

[[noreturn]] void not_in_float16(double value) {
  throw DataError("value " + std::to_string(value) +
                  " does not fit float16; give a clip range, or take float32");
}

std::string text_of(const NumberRange& range) {
  return std::to_string(range.low) + " to " + std::to_string(range.high);
}

/// The part of the stored numbers whose values a clip range keeps.
NumberRange stored_range(const VolumeInfo& from, const std::array<double, 2>& clip) {
  const double a = (clip[0] - from.offset) / from.scale;
  const double b = (clip[1] - from.offset) / from.scale;
  return {std::ceil(std::min(a, b)), std::floor(std::max(a, b))};
}

bool fits(const NumberRange& range, DType dtype) noexcept {
  const NumberRange holds = range_of(dtype);
  return range.empty() || (range.low >= holds.low && range.high <= holds.high);
}

NumberRange values_of(const NumberRange& stored, const VolumeInfo& from) {
  if (stored.empty()) return stored;
  const double a = stored.low * from.scale + from.offset;
  const double b = stored.high * from.scale + from.offset;
  return {std::min(a, b), std::max(a, b)};
}

/// Whole numbers stay; false where they do not fit.
bool keep_numbers(const VolumeInfo& from, const MappingRequest& request, ValueMapping& mapping,
                  const std::function<NumberRange()>& scan) {
  NumberRange range = range_of(from.dtype);
  if (request.clip) {
    const NumberRange clipped = stored_range(from, *request.clip);
    range = {std::max(range.low, clipped.low), std::min(range.high, clipped.high)};
    if (range.empty() || !fits(range, request.to)) return false;
  } else if (!fits(range, request.to)) {
    const NumberRange found = scan();
    range = range_of(request.to);
    if (!fits(found, request.to)) {
      throw DataError("whole numbers from " + text_of(found) + " do not fit " +
                      std::string(name_of(request.to)) +
                      "; give a clip range to spread over it, or take a larger dtype");
    }
  }
  mapping.kind = ValueMapping::Kind::keep;
  mapping.scale = from.scale;
  mapping.offset = from.offset;
  mapping.range = range;
  return true;
}

/// Spreads values over an integer dtype.
void spread(ValueMapping& mapping, const NumberRange& values) {
  const NumberRange whole = range_of(mapping.to);
  mapping.kind = ValueMapping::Kind::scale;
  mapping.scale = 1.0;
  mapping.offset = values.empty() ? 0.0 : values.low - whole.low;
  const double scale = (values.high - values.low) / (whole.high - whole.low);
  if (values.empty() || !std::isfinite(scale) || !(scale > 0.0)) return;
  mapping.scale = scale;
  mapping.offset = values.low - whole.low * scale;
}

}  // namespace

void NumberRange::add(const NumberRange& other) noexcept {
  if (other.empty()) return;
  *this = empty() ? other : NumberRange{std::min(low, other.low), std::max(high, other.high)};
}

NumberRange range_of(std::span<const std::byte> stored, DType dtype) noexcept {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  NumberRange range{infinity, -infinity};
  for_numbers(stored, dtype, [&](std::size_t, double number) {
    if (number < range.low && number > -infinity) range.low = number;
    if (number > range.high && number < infinity) range.high = number;
  });
  return range;
}

NumberRange range_of(DType dtype) noexcept {
  return visit_dtype(dtype, [](auto element) {
    using T = decltype(element);
    if constexpr (is_float<T>)
      return NumberRange{};
    else
      return NumberRange{static_cast<double>(std::numeric_limits<T>::lowest()),
                         static_cast<double>(std::numeric_limits<T>::max())};
  });
}

void ValueMapping::apply(std::span<const std::byte> from_voxels,
                         std::span<std::byte> to_voxels) const {
  if (kind == Kind::copy) {
    std::copy(from_voxels.begin(), from_voxels.end(), to_voxels.begin());
    return;
  }
  const bool clamps = !range.empty();
  const double low = range.low, high = range.high;
  const auto clamped = [=](double value) {
    return !clamps ? value : value < low ? low : value > high ? high : value;
  };
  visit_dtype(to, [&](auto element) {
    using T = decltype(element);
    for_numbers(from_voxels, from, [&](std::size_t i, double number) {
      if constexpr (!is_float<T>) {
        if (kind == Kind::keep) return store(to_voxels.data(), i, to_whole<T>(clamped(number)));
        const double value = clamped(number * from_scale + from_offset);
        store(to_voxels.data(), i, to_whole<T>(rounded((value - offset) / scale)));
      } else if constexpr (std::is_same_v<T, double>) {
        store(to_voxels.data(), i, clamped(number * from_scale + from_offset));
      } else {
        const double value = clamped(number * from_scale + from_offset);
        from_float(static_cast<float>(value), element);
        if constexpr (std::is_same_v<T, float16_t>) {
          if (std::isinf(to_float(element)) && !std::isinf(value)) not_in_float16(value);
        }
        store(to_voxels.data(), i, element);
      }
    });
  });
}

ValueMapping choose_mapping(const VolumeInfo& from, const MappingRequest& request,
                            const std::function<NumberRange()>& scan) {
  ValueMapping mapping{
      .from = from.dtype, .to = request.to, .from_scale = from.scale, .from_offset = from.offset};
  if (request.to == from.dtype && !request.clip) {
    mapping.scale = from.scale;
    mapping.offset = from.offset;
    return mapping;
  }
  if (!is_whole(request.to)) {
    mapping.kind = ValueMapping::Kind::value;
    if (request.clip) mapping.range = {(*request.clip)[0], (*request.clip)[1]};
    return mapping;
  }
  if (is_whole(from.dtype) && keep_numbers(from, request, mapping, scan)) return mapping;
  if (request.clip) mapping.range = {(*request.clip)[0], (*request.clip)[1]};
  spread(mapping, request.clip ? mapping.range : values_of(scan(), from));
  return mapping;
}

}  // namespace headrace::inline v1::detail
