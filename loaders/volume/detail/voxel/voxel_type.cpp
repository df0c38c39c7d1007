#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>
#include <headrace/loaders/volume/detail/voxel/voxel_type.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;
using Name = std::pair<std::string_view, DType>;

constexpr Name numpy_names[] = {
    {"u1", DType::uint8},   {"i1", DType::int8},    {"u2", DType::uint16},  {"i2", DType::int16},
    {"u4", DType::uint32},  {"i4", DType::int32},   {"u8", DType::uint64},  {"i8", DType::int64},
    {"f2", DType::float16}, {"f4", DType::float32}, {"f8", DType::float64}, {"b1", DType::uint8}};
constexpr Name zarr_names[] = {
    {"uint8", DType::uint8},     {"int8", DType::int8},       {"uint16", DType::uint16},
    {"int16", DType::int16},     {"uint32", DType::uint32},   {"int32", DType::int32},
    {"uint64", DType::uint64},   {"int64", DType::int64},     {"float16", DType::float16},
    {"float32", DType::float32}, {"float64", DType::float64}, {"bfloat16", DType::bfloat16},
    {"bool", DType::uint8}};

[[noreturn]] void cannot_fill(const Json& value, DType dtype) {
  throw DataError("the fill value must be one of " + std::string(name_of(dtype)) + ", got " +
                  shown(value));
}

template <class T>
VoxelBytes voxel_bytes_of(const T& value) {
  VoxelBytes bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

double real_number(const Json& value, DType dtype) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  cannot_fill(value, dtype);
}

template <class T>
VoxelBytes whole_number(const Json& value, DType dtype) {
  if (value.is_boolean()) return voxel_bytes_of(static_cast<T>(value.get<bool>()));
  if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>()))
    return voxel_bytes_of(static_cast<T>(value.get<std::uint64_t>()));
  if (value.is_number_integer() && !value.is_number_unsigned() &&
      std::in_range<T>(value.get<std::int64_t>()))
    return voxel_bytes_of(static_cast<T>(value.get<std::int64_t>()));
  constexpr double safe = 9007199254740992.0;  // 2^53
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::abs(number) <= safe && number == std::floor(number) &&
        std::in_range<T>(static_cast<std::int64_t>(number)))
      return voxel_bytes_of(static_cast<T>(number));
  }
  cannot_fill(value, dtype);
}

/// "0x" and the bits of a value, all of them.
bool is_bits(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("0x");
}

VoxelBytes bits(const Json& value, DType dtype) {
  const std::string_view digits = std::string_view(value.get_ref<const std::string&>()).substr(2);
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (digits.size() != 2 * size_of(dtype) || error != std::errc() ||
      end != digits.data() + digits.size())
    cannot_fill(value, dtype);
  return voxel_bytes_of(number);  // little-endian, as every machine that we know
}

template <class Half>
VoxelBytes half(double number) {
  Half value;
  from_float(static_cast<float>(number), value);
  return voxel_bytes_of(value);
}

}  // namespace

VoxelType numpy_type(const std::string& name) {
  if (name.size() == 3 && std::string_view("<>|=").find(name[0]) != std::string_view::npos) {
    for (const auto& [code, dtype] : numpy_names)
      if (code == std::string_view(name).substr(1))
        return {dtype, name[0] == '>' && size_of(dtype) > 1};
  }
  throw DataError("the type must be a number or boolean such as '<f4', got " +
                  detail::quoted(name));
}

DType zarr_type(const std::string& name) {
  for (const auto& [known, dtype] : zarr_names)
    if (known == name) return dtype;
  throw DataError("the type must be a number or boolean such as 'float32', got " +
                  detail::quoted(name));
}

VoxelBytes fill_value(const Json& value, DType dtype) {
  if (value.is_null()) return {};
  if (!is_integer(dtype) && is_bits(value)) return bits(value, dtype);
  if (dtype == DType::boolean) cannot_fill(value, dtype);  // no file's
  if (value.is_string()) {
    const Json number = Json::parse(value.get_ref<const std::string&>(), nullptr, false);
    if (number.is_number()) return fill_value(number, dtype);  // as z5py writes it
  }
  return visit_dtype(dtype, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_integral_v<T>)
      return whole_number<T>(value, dtype);
    else if constexpr (std::is_floating_point_v<T>)
      return voxel_bytes_of(static_cast<T>(real_number(value, dtype)));
    else
      return half<T>(real_number(value, dtype));
  });
}

void fill_voxels(const VoxelBytes& value, std::size_t size, std::byte* to, std::size_t bytes) {
  const auto* first = value.data();
  if (std::all_of(first, first + size, [&](std::byte byte) { return byte == value[0]; })) {
    std::memset(to, std::to_integer<int>(value[0]), bytes);
    return;
  }
  std::size_t done = std::min(size, bytes);
  std::memcpy(to, first, done);
  while (done < bytes) {  // twice as many each time
    const std::size_t more = std::min(done, bytes - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
}

}  // namespace headrace::inline v1::detail
