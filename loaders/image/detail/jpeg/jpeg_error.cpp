#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>

#include <cstring>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void fail(j_common_ptr info) {
  auto* error = reinterpret_cast<JpegError*>(info->err);
  error->base.format_message(info, error->message);
  std::longjmp(error->jump, 1);
}

void fail_on_warning(j_common_ptr info, int level) {
  if (level < 0) fail(info);
}

void no_output(j_common_ptr) {}

}  // namespace

void JpegError::attach(jpeg_error_mgr*& err) {
  err = jpeg_std_error(&base);
  base.error_exit = fail;
  base.emit_message = fail_on_warning;
  base.output_message = no_output;
}

void jpeg_fail(j_common_ptr info, const char* message) {
  auto* error = reinterpret_cast<JpegError*>(info->err);
  error->base.msg_code = 0;
  std::strncpy(error->message, message, sizeof error->message - 1);
  error->message[sizeof error->message - 1] = '\0';
  std::longjmp(error->jump, 1);
}

}  // namespace headrace::inline v1::detail
