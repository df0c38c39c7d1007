#pragma once

#include <functional>
#include <memory>

namespace headrace::inline v1::detail {

/// Threads of our own, each inside an arena whose slots are all reserved for them, each waiting in
/// a tiny graph of its own: they run every task of the arena, need no worker of TBB's, and sleep
/// when there is none. Works under any `global_control` of the host. No other thread ever blocks in
/// the arena.
class Crew {
 public:
  /// `owner`: what owner_of_this_thread is on the crew's threads.
  Crew(int threads, const void* owner);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const noexcept { return size_; }
  /// Number of the calling crew thread, below size().
  static int thread() noexcept;
  /// Runs `work` on a crew thread, the calling one if it is one, and returns when it is done.
  void run(const std::function<void()>& work);
  /// Runs `work(0)` to `work(count - 1)` on the crew's threads and returns when all are done; not
  /// for a crew thread. Throws what one of them threw.
  void run_each(int count, const std::function<void(int)>& work);
  /// Runs `work` on the calling crew thread; where it waits inside TBB, the thread takes up nothing
  /// but tasks of this work.
  static void isolate(const std::function<void()>& work);

 private:
  struct Impl;
  int size_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::inline v1::detail
