#pragma once

#include <headrace/engine/runtime/runtime.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace headrace::inline v1::detail {

/// Calls make()(i) for i in [0, count) on at most `most_threads` threads, the caller's among them;
/// each makes a worker of its own. No call begins after an exception; the first one is thrown.
/// Where the system gives fewer threads, those there are do all the work.
template <class Make>
void in_parallel(std::size_t count, std::size_t most_threads, const Make& make) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto serve = [&] {
    try {
      auto work = make();
      for (std::size_t i = next++; i < count; i = next++)
        work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  const std::size_t threads = std::min(count, most_threads);
  {
    std::vector<std::jthread> crew;
    crew.reserve(threads);
    try {
      for (std::size_t i = 1; i < threads; ++i)
        crew.emplace_back(serve);
    } catch (const std::system_error&) {
      // The work is shared among those that were made.
    }
    serve();
  }
  if (error) std::rethrow_exception(error);
}

/// Calls work(i) for i in [0, count) on a few threads of its own. For loading at construction, when
/// no loader runs yet.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  const std::size_t most_threads =
      std::min<std::size_t>(16, static_cast<std::size_t>(usable_cores()));
  in_parallel(count, most_threads, [&work] { return [&work](std::size_t i) { work(i); }; });
}

}  // namespace headrace::inline v1::detail
