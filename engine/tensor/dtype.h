#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headrace::inline v1 {

/// 16-bit IEEE 754 half precision, carried as bits: the engine moves it and never computes with it.
struct float16_t {
  std::uint16_t bits = 0;
};

/// Upper half of a binary32 ("brain float"), carried as bits.
struct bfloat16_t {
  std::uint16_t bits = 0;
};

/// Element type of a tensor. Values are stable: they go into checkpoints and packs.
enum class DType : std::uint8_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  uint64 = 6,
  int64 = 7,
  float16 = 8,
  bfloat16 = 9,
  float32 = 10,
  float64 = 11,
  boolean = 12,
};

/// Bytes of one element.
HEADRACE_API std::size_t size_of(DType dtype) noexcept;

/// "uint8", "float32" and so on.
HEADRACE_API std::string_view name_of(DType dtype) noexcept;

/// Whether its values are whole numbers; a boolean is none.
constexpr bool is_integer(DType dtype) noexcept {
  return dtype <= DType::int64;
}

namespace detail {
template <class T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::uint8; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::int8; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::uint16; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::int16; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::uint32; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::int32; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::uint64; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::int64; };
template <> struct DTypeOf<float16_t> { static constexpr DType value = DType::float16; };
template <> struct DTypeOf<bfloat16_t> { static constexpr DType value = DType::bfloat16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::float32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::float64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
// clang-format on
}  // namespace detail

/// The DType of a C++ element type.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

}  // namespace headrace::inline v1
