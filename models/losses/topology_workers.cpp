#include <headrace/engine/base/error.h>
#include <headrace/engine/base/give_way.h>
#include <headrace/models/losses/topology_workers.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace headrace::inline v1::models {

namespace {

class CountedWait {
 public:
  explicit CountedWait(WorkerWaits& waits) : waits_(waits) {}
  ~CountedWait() {
    ++waits_.count;
    waits_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  CountedWait(const CountedWait&) = delete;
  CountedWait& operator=(const CountedWait&) = delete;

 private:
  WorkerWaits& waits_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

bool is_done(const std::future<void>& job) {
  return job.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

TopologyWorkers::TopologyWorkers(const TopologyWorkersOptions& options) : places_(options.places) {
  if (options.threads < 1 || options.places < 1)
    throw ConfigError("[topology workers] at least one thread and one place are needed, got " +
                      std::to_string(options.threads) + " and " + std::to_string(options.places));
  try {
    for (int i = 0; i < options.threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { live(stop); });
  } catch (const std::system_error& error) {
    throw ResourceError("[topology workers] " + std::to_string(options.threads) +
                        " threads are needed, the system gave " + std::to_string(threads_.size()) +
                        " (" + error.what() + "); ask for fewer");
  }
}

TopologyWorkers::~TopologyWorkers() {
  for (std::jthread& thread : threads_)
    thread.request_stop();
}

std::future<void> TopologyWorkers::submit(std::function<void()> job) {
  std::packaged_task<void()> task(std::move(job));
  std::future<void> done = task.get_future();
  {
    std::unique_lock lock(mutex_);
    if (jobs_.size() >= places_) {
      const CountedWait wait(waits_);
      begun_.wait(lock, [this] { return jobs_.size() < places_; });
    }
    jobs_.push_back(std::move(task));
  }
  came_.notify_one();
  return done;
}

void TopologyWorkers::collect(std::vector<std::future<void>>& jobs) {
  if (!std::all_of(jobs.begin(), jobs.end(), is_done)) {
    const CountedWait wait(waits_);
    for (const std::future<void>& job : jobs)
      job.wait();
  }
  for (std::future<void>& job : jobs)
    job.get();
}

void TopologyWorkers::live(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "headrace-topo");
  give_way(lower_priority);
  for (;;) {
    std::packaged_task<void()> job;
    {
      std::unique_lock lock(mutex_);
      came_.wait(lock, stop, [this] { return !jobs_.empty(); });
      if (stop.stop_requested()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    begun_.notify_one();
    job();
  }
}

}  // namespace headrace::inline v1::models
