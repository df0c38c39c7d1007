#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace headrace::inline v1::detail {

/// Bytes that several threads share; who needs more than are left waits. Thread-safe.
class SharedBytes {
 public:
  class Loan {
   public:
    /// At most as many as there are at all.
    Loan(SharedBytes& from, std::size_t bytes) : from_(from), bytes_(bytes) {
      std::unique_lock lock(from_.mutex_);
      from_.freed_.wait(lock, [&] { return bytes_ <= from_.left_; });
      from_.left_ -= bytes_;
    }
    ~Loan() {
      {
        const std::lock_guard lock(from_.mutex_);
        from_.left_ += bytes_;
      }
      from_.freed_.notify_all();
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    SharedBytes& from_;
    std::size_t bytes_;
  };

  explicit SharedBytes(std::size_t bytes) : left_(bytes) {}

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t left_;
};

}  // namespace headrace::inline v1::detail
