#pragma once

#include <headrace/loaders/image/format_decoder.h>

#include <memory>

namespace headrace::inline v1::detail {

/// WebP. Labels are those of lossless files; lossy ones keep none.
std::unique_ptr<FormatDecoder> make_webp_decoder();

}  // namespace headrace::inline v1::detail
