#pragma once

#include <headrace/engine/base/error.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Makes things number `first` to `count` - 1 on several threads and hands them out in order; at
/// most four for each thread are made ahead. What `make` throws comes out in the thing's place.
template <class Thing>
class InOrder {
 public:
  struct Work {
    std::int64_t first = 0;
    std::int64_t count = 0;
    int threads = 1;
    std::string who{};  ///< begins the ResourceError where the system gives no thread
  };
  using Make = std::function<Thing(std::int64_t)>;

  /// `make` is called from several threads at a time.
  InOrder(Work work, Make make)
      : work_(std::move(work)),
        make_(std::move(make)),
        next_(work_.first),
        taken_(work_.first),
        slots_(static_cast<std::size_t>(4 * work_.threads)) {
    try {
      threads_.reserve(static_cast<std::size_t>(work_.threads));
      for (int i = 0; i < work_.threads; ++i)
        threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error& failure) {
      // The system gives no more threads: those there are do all the work.
      if (!threads_.empty()) return;
      throw ResourceError("[" + work_.who + "] a thread is needed, the system gave none (" +
                          std::string(failure.what()) + "); raise the limit of threads");
    } catch (...) {
      stop();
      throw;
    }
  }
  ~InOrder() { stop(); }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  /// The next thing; called at most as often as there are things.
  Thing take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(taken_) % slots_.size()];
    made_.wait(lock, [&slot] { return slot.full; });
    slot.full = false;
    ++taken_;
    room_.notify_all();
    if (slot.error) std::rethrow_exception(slot.error);
    return std::move(slot.thing);
  }

 private:
  struct Slot {
    bool full = false;
    Thing thing{};
    std::exception_ptr error;
  };

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_all();
    threads_.clear();
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [this] {
        return stopped_ || next_ >= work_.count ||
               next_ - taken_ < static_cast<std::int64_t>(slots_.size());
      });
      if (stopped_ || next_ >= work_.count) return;
      const std::int64_t number = next_++;
      lock.unlock();
      Thing thing{};
      std::exception_ptr error;
      try {
        thing = make_(number);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      Slot& slot = slots_[static_cast<std::size_t>(number) % slots_.size()];
      slot.thing = std::move(thing);
      slot.error = error;
      slot.full = true;
      made_.notify_all();
    }
  }

  Work work_;
  Make make_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable made_;
  std::int64_t next_;
  std::int64_t taken_;
  bool stopped_ = false;
  std::vector<Slot> slots_;
  std::vector<std::jthread> threads_;
};

}  // namespace headrace::inline v1::detail
