#pragma once

#include <headrace/loaders/image/format_decoder.h>

#include <memory>

namespace headrace::inline v1::detail {

/// Windows bitmaps. Labels are the indices of a file with a palette, otherwise the one value of all
/// channels.
std::unique_ptr<FormatDecoder> make_bmp_decoder();

}  // namespace headrace::inline v1::detail
