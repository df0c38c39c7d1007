#pragma once

#include <headrace/engine/base/export.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <sys/types.h>

namespace headrace::inline v1::detail {

/// How many forks lie between this process and the program's first one.
HEADRACE_API unsigned forks() noexcept;

/// The process that made something. One that is forked from it has the memory, and none of the
/// threads that work on it; its locks may be held by them for ever. So left() is asked before any
/// lock is taken. (A number of a process tells nothing: it may come again.) Aligned to its size:
/// clang makes an atomic of one without a lock.
class HEADRACE_API HomeProcess {
 public:
  HomeProcess() noexcept;
  /// Of nothing yet: never left.
  static HomeProcess none() noexcept { return HomeProcess(0, 0); }

  /// Whether this is another process by now.
  bool left() const noexcept { return id_ != 0 && forks_ != forks(); }
  /// Throws PipelineError where it is: `who` was made before the fork.
  void require(const std::string& who) const {
    if (left()) refuse(who);
  }
  pid_t id() const noexcept { return id_; }

 private:
  HomeProcess(unsigned forks, pid_t id) noexcept : forks_(forks), id_(id) {}
  [[noreturn]] void refuse(const std::string& who) const;

  alignas(8) unsigned forks_;
  pid_t id_;
};

/// What a forked process must not touch (locks, files that are written, threads). There it is made
/// anew at its first use; the other process's stays in memory as it is, and nothing ends it.
template <class T>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<T>()>;

  explicit PerProcess(Make make = [] { return std::make_unique<T>(); })
      : make_(std::move(make)), held_(new Held{make_()}) {}
  ~PerProcess() {
    if (Held* held = held_; !held->home.left()) delete held;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  /// Any thread. Throws what making it throws.
  T& operator*() const {
    Held* held = held_.load(std::memory_order_acquire);
    while (held->home.left()) {
      std::unique_ptr<Held> anew(new Held{make_()});
      if (held_.compare_exchange_strong(held, anew.get(), std::memory_order_acq_rel))
        held = anew.release();
    }
    return *held->it;
  }
  T* operator->() const { return &**this; }

 private:
  struct Held {
    std::unique_ptr<T> it;
    HomeProcess home{};
  };

  Make make_;
  mutable std::atomic<Held*> held_;
};

}  // namespace headrace::inline v1::detail
