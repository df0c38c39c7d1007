#pragma once

#include <unistd.h>

namespace headrace::inline v1::detail {

/// The process that made something. One that is forked from it has the memory, and none of the
/// threads that work on it.
class HomeProcess {
 public:
  /// Whether this is another process by now.
  bool left() const noexcept { return ::getpid() != id_; }

 private:
  pid_t id_ = ::getpid();
};

}  // namespace headrace::inline v1::detail
