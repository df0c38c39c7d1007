#pragma once

#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace headrace::test {

#ifdef __SANITIZE_THREAD__
constexpr bool cannot_fork = true;  // ThreadSanitizer's runtime does not bear threads in a child
#else
constexpr bool cannot_fork = false;
#endif
/// Beside threads that take memory at that moment, whose locks AddressSanitizer's allocator leaves
/// locked in a child; the C library's does not. At a child's exit what belongs to a library's own
/// thread is a leak to it.
#ifdef __SANITIZE_ADDRESS__
constexpr bool cannot_fork_at_work = true;
#else
constexpr bool cannot_fork_at_work = cannot_fork;
#endif

/// A process that is forked from this one at once and does `work`, which returns a text; an alarm
/// ends it should it hang. `work` must leave doctest alone: another thread may have held its lock.
class ForkedChild {
 public:
  template <class Work>
  explicit ForkedChild(Work work) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      ::alarm(240);
      std::string said;
      try {
        said = work();
      } catch (const std::exception& error) {
        said = error.what();
      }
      const bool written = ::write(ends[1], said.data(), said.size()) == std::ssize(said);
      _exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    from_ = ends[0];
    if (child_ < 0) throw std::runtime_error("no process");
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  ~ForkedChild() {
    if (child_ > 0) static_cast<void>(end());
    ::close(from_);
  }

  /// What it returned or threw, once it has ended. Throws where it hung or crashed.
  std::string said() {
    std::string text;
    char part[512];
    for (ssize_t got = 0; (got = ::read(from_, part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(got));
    if (const int status = end(); !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw std::runtime_error(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                                   ? "the child hung"
                                   : "the child crashed");
    return text;
  }

 private:
  int end() {
    int status = 0;
    ::waitpid(std::exchange(child_, 0), &status, 0);
    return status;
  }

  pid_t child_ = 0;
  int from_ = -1;
};

/// Has a child do `work` and waits for it.
template <class Work>
std::string in_a_child(Work work) {
  return ForkedChild(std::move(work)).said();
}

}  // namespace headrace::test
