#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/format_decoder.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace headrace::inline v1 {

/// An encoding of pictures. All there is to know of one stands in its row of image_formats() and in
/// the file of its decoder; a new format is such a file and such a row.
struct ImageFormat {
  std::string_view name;  ///< "JPEG"; ImageHeader::format of its files
  /// Of files that folders list: lower case, with the dot. Unused ones are empty.
  std::array<std::string_view, 4> extensions;
  /// What a file may begin with; '?' stands for any byte. Unused ones are empty.
  std::array<std::string_view, 4> signatures;
  std::unique_ptr<FormatDecoder> (*make_decoder)();
};

/// The formats that can be read.
HEADRACE_API std::span<const ImageFormat> image_formats() noexcept;

/// The format of a file's bytes, told by the first of them and never by a name; null for others.
HEADRACE_API const ImageFormat* format_of(std::span<const std::byte> file) noexcept;

/// Whether a file begins as a JPEG, PNG or WebP does, whose marks no others have by chance.
HEADRACE_API bool begins_as_image(std::span<const std::byte> start) noexcept;

/// Whether a path's extension, in any case, is that of a format. Names that are nothing but an
/// extension have none.
HEADRACE_API bool has_image_extension(std::string_view path);

}  // namespace headrace::inline v1
