#pragma once

#include <condition_variable>
#include <mutex>

namespace headrace::inline v1::detail {

/// Holds a step's limit where its node cannot: a replaced row runs all steps in the node that found
/// it bad.
class Gate {
 public:
  explicit Gate(int places) : free_(places) {}

  /// A place inside.
  class Turn {
   public:
    explicit Turn(Gate& gate) : gate_(gate) {
      std::unique_lock lock(gate_.mutex_);
      gate_.freed_.wait(lock, [this] { return gate_.free_ > 0; });
      --gate_.free_;
    }
    ~Turn() {
      std::lock_guard lock(gate_.mutex_);
      ++gate_.free_;
      gate_.freed_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Gate& gate_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
};

}  // namespace headrace::inline v1::detail
