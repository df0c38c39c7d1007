#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <headrace/engine/runtime.h>

namespace headrace::inline v1::detail {

/// Calls work(i) for i in [0, count) on a few threads of its own; the first exception is thrown.
/// For loading at construction, when no loader runs yet.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto serve = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++)
        work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  constexpr std::size_t most_threads = 16;
  const std::size_t threads =
      std::min({count, most_threads, static_cast<std::size_t>(usable_cores())});
  {
    std::vector<std::jthread> crew;
    crew.reserve(threads);
    try {
      for (std::size_t i = 1; i < threads; ++i)
        crew.emplace_back(serve);
    } catch (const std::system_error&) {
      // The system gives no more threads: those there are do all the work.
    }
    serve();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace headrace::inline v1::detail
