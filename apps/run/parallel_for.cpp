#include <headrace/apps/run/parallel_for.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace::inline v1::app {

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++)
        work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads; ++i)
      helpers.emplace_back(run);
    run();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace headrace::inline v1::app
