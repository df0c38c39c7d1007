#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace::inline v1::detail {

/// Threads that may wait for a disk or network. Jobs run in the order they came.
class IoPool {
 public:
  using Job = std::function<void(int thread)>;

  /// `owner`: what owner_of_this_thread is on the pool's threads.
  IoPool(int threads, const void* owner);
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  /// Makes room for so many more jobs at once: submitting these takes no memory.
  void expect(std::size_t jobs);
  void forget(std::size_t jobs) noexcept;
  void submit(Job job);

 private:
  void live(int thread);
  void stop();
  void make_room(std::size_t places);

  const void* owner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;  ///< a ring
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
  std::size_t expected_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace headrace::inline v1::detail
