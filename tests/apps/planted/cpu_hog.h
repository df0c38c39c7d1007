#pragma once

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace headrace::test {

/// A process of another tree that keeps twice as many threads busy as there are cores, while the
/// object lives: nobody is busier.
class CpuHog {
 public:
  CpuHog() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(300);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, name_);
    const unsigned more = 2 * std::max(1U, std::thread::hardware_concurrency()) - 1;
    for (unsigned i = 0; i < more; ++i)
      std::thread(keep_busy).detach();
    keep_busy();
  }
  ~CpuHog() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  CpuHog(const CpuHog&) = delete;
  CpuHog& operator=(const CpuHog&) = delete;
  std::string pid() const { return std::to_string(pid_); }
  /// As advice shows a process: its name and number.
  std::string name() const { return std::string(name_) + ' ' + pid(); }

 private:
  static constexpr const char* name_ = "planted hog";

  [[noreturn]] static void keep_busy() {
    volatile unsigned count = 0;
    for (;;) {
      const unsigned next = count + 1;
      count = next;
    }
  }

  pid_t pid_;
};

}  // namespace headrace::test
