#pragma once

#include <stdexcept>

#include <sys/resource.h>

namespace headrace::test {

/// While it lives, this process opens nothing beyond what is open.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("no limit of files");
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) throw std::runtime_error("limit of files stands");
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace headrace::test
