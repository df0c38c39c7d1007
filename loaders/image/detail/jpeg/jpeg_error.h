#pragma once

// jpeglib.h needs FILE and size_t before it.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

namespace headrace::inline v1::detail {

/// How libjpeg-turbo's errors come back: a jump to `jump` with `message` filled in. Warnings are
/// errors: what a decoder guessed is no sample.
struct JpegError {
  jpeg_error_mgr base;  // first: the library hands out a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];

  /// Makes itself the error manager of a decoder or an encoder, whose `err` this is.
  void attach(jpeg_error_mgr*& err);
};

/// Leaves the library with a message of ours.
[[noreturn]] void jpeg_fail(j_common_ptr info, const char* message);

}  // namespace headrace::inline v1::detail
