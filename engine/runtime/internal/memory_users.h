#pragma once

#include <headrace/engine/runtime/runtime.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace headrace::inline v1::detail {

/// A loader, as the memory of its runtime sees it. Called under the list's lock, on any thread; may
/// run the user's code (orders, estimates of sources), which may ask the list again.
class MemoryUser {
 public:
  /// The share or the pause is another one.
  virtual void share_changed() noexcept = 0;
  virtual LoaderHolding holding() const = 0;

 protected:
  ~MemoryUser() = default;
};

/// The loaders at work on a runtime, and what all of them may use of the memory that they planned.
/// Its lock is taken before a loader's.
class MemoryUsers {
 public:
  void add(MemoryUser& user);
  void remove(const MemoryUser& user) noexcept;

  double share() const noexcept { return share_.load(std::memory_order_relaxed); }
  bool paused() const noexcept { return paused_.load(std::memory_order_relaxed); }
  void set_share(double share);
  void set_paused(bool paused);
  std::vector<LoaderHolding> holdings() const;

 private:
  void tell() const noexcept;

  std::atomic<double> share_{1.0};
  std::atomic<bool> paused_{false};
  mutable std::recursive_mutex mutex_;  // of the list
  std::vector<MemoryUser*> users_;
};

}  // namespace headrace::inline v1::detail
