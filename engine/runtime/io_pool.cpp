#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/detail/own_thread.h>
#include <headrace/engine/runtime/internal/io_pool.h>

#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace headrace::inline v1::detail {

IoPool::IoPool(int threads, const void* owner) : owner_(owner) {
  try {
    threads_.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, i] { live(i); });
  } catch (const std::system_error& error) {
    const auto made = std::to_string(threads_.size());
    stop();
    throw ResourceError("[runtime] " + std::to_string(threads) +
                        " I/O threads are needed, the system gave " + made + " (" + error.what() +
                        "); lower Runtime.io_threads");
  } catch (...) {
    stop();
    throw;
  }
}

IoPool::~IoPool() {
  stop();
}

void IoPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

void IoPool::expect(std::size_t jobs) {
  std::lock_guard lock(mutex_);
  make_room(expected_ + jobs);
  expected_ += jobs;
}

void IoPool::forget(std::size_t jobs) noexcept {
  std::lock_guard lock(mutex_);
  expected_ -= jobs;
}

void IoPool::submit(Job job) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_ == jobs_.size()) make_room(2 * waiting_ + 1);
    jobs_[(first_ + waiting_++) % jobs_.size()] = std::move(job);
  }
  changed_.notify_one();
}

void IoPool::make_room(std::size_t places) {
  if (places <= jobs_.size()) return;
  std::vector<Job> larger(places);
  for (std::size_t i = 0; i < waiting_; ++i)
    larger[i] = std::move(jobs_[(first_ + i) % jobs_.size()]);
  jobs_ = std::move(larger);
  first_ = 0;
}

void IoPool::live(int thread) {
  char name[16];
  std::snprintf(name, sizeof name, "headrace-io-%d", thread);
  pthread_setname_np(pthread_self(), name);
  owner_of_this_thread = owner_;
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || waiting_ > 0; });
      if (waiting_ == 0) return;
      job = std::move(jobs_[first_]);
      first_ = (first_ + 1) % jobs_.size();
      --waiting_;
    }
    job(thread);
  }
}

}  // namespace headrace::inline v1::detail
