#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace headrace::test::device {

/// A stream: a thread that does what it is told in order.
class Queue {
 public:
  explicit Queue(int device = 0) : device_(device), thread_([this] { live(); }) {}
  ~Queue() {
    push([this] { ended_ = true; });
    thread_.join();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  int device() const noexcept { return device_; }
  void push(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
      ++pushed_;
    }
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock lock(mutex_);
    const std::int64_t all = pushed_;
    changed_.wait(lock, [&] { return done_ >= all; });
  }
  bool idle() {
    std::lock_guard lock(mutex_);
    return done_ == pushed_;
  }

 private:
  void live() {
    while (!ended_) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !work_.empty(); });
        work = std::move(work_.front());
        work_.pop_front();
      }
      work();
      {
        std::lock_guard lock(mutex_);
        ++done_;
      }
      changed_.notify_all();
    }
  }

  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::int64_t pushed_ = 0;
  std::int64_t done_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace headrace::test::device
