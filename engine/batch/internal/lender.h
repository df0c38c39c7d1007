#pragma once

#include <headrace/engine/batch/internal/slab_pool.h>

#include <condition_variable>
#include <exception>
#include <mutex>

namespace headrace::inline v1::detail {

/// Who lends batches.
class Lender {
 public:
  /// A slab is free again: its batch is no longer used. `delivered`: the trainer had it. Any
  /// thread.
  virtual void slab_came_back(Slab* slab, bool delivered) noexcept = 0;
  /// The same of a slot of the device, which the transfer has set free, or will; or has lost, for
  /// `failure`.
  virtual void slot_came_back(bool delivered, std::exception_ptr failure) noexcept = 0;

 protected:
  ~Lender() = default;
};

/// The way from loans back to their lender, cut when the lender goes first. For any thread.
class LenderLink {
 public:
  explicit LenderLink(Lender* lender) noexcept : lender_(lender) {}

  /// Calls `work(lender)`, without a lock held, unless the lender has gone; false then.
  template <class Work>
  bool call(Work work) noexcept {
    Lender* lender = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (lender_ == nullptr) return false;
      lender = lender_;
      ++inside_;
    }
    work(*lender);
    std::lock_guard lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
    return true;
  }
  /// From now on the lender is not called; waits for those who are calling it.
  void cut() noexcept {
    std::unique_lock lock(mutex_);
    lender_ = nullptr;
    left_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  Lender* lender_;
  int inside_ = 0;
};

}  // namespace headrace::inline v1::detail
