#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <headrace/engine/field.h>
#include <headrace/engine/tensor.h>

namespace headrace::inline v1::detail {

/// A decoded picture, uint8 [height, width, channels].
struct Picture {
  const std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

/// The field as a picture; throws ConfigError naming `who` where it is none.
const FieldSpec& picture_field(const Schema& in, std::string_view field, const std::string& who);

/// The tensor as a picture; throws DataError where it is none.
Picture picture_of(const Tensor& tensor, const std::string& field);

}  // namespace headrace::inline v1::detail
