#include <headrace/engine/base/error.h>
#include <headrace/engine/base/give_way.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/models/losses/topology_workers.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
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

struct TopologyWorkers::Crew {
  void live(const std::stop_token& stop);

  headrace::detail::HomeProcess home{};
  std::mutex mutex{};
  std::condition_variable_any came{};
  std::condition_variable begun{};
  std::deque<std::packaged_task<void()>> jobs{};
  std::vector<std::jthread> threads{};
};

TopologyWorkers::TopologyWorkers(const TopologyWorkersOptions& options)
    : places_(options.places), crew_(std::make_unique<Crew>()) {
  if (options.threads < 1 || options.places < 1)
    throw ConfigError("[topology workers] at least one thread and one place are needed, got " +
                      std::to_string(options.threads) + " and " + std::to_string(options.places));
  try {
    for (int i = 0; i < options.threads; ++i)
      crew_->threads.emplace_back(
          [crew = crew_.get()](const std::stop_token& stop) { crew->live(stop); });
  } catch (const std::system_error& error) {
    throw ResourceError("[topology workers] " + std::to_string(options.threads) +
                        " threads are needed, the system gave " +
                        std::to_string(crew_->threads.size()) + " (" + error.what() +
                        "); ask for fewer");
  }
}

TopologyWorkers::~TopologyWorkers() {
  if (crew_->home.left()) {
    static_cast<void>(crew_.release());
    return;
  }
  for (std::jthread& thread : crew_->threads)
    thread.request_stop();
}

std::future<void> TopologyWorkers::submit(std::function<void()> job) {
  crew_->home.require("[topology workers] the crew");
  std::packaged_task<void()> task(std::move(job));
  std::future<void> done = task.get_future();
  {
    std::unique_lock lock(crew_->mutex);
    if (crew_->jobs.size() >= places_) {
      const CountedWait wait(waits_);
      crew_->begun.wait(lock, [this] { return crew_->jobs.size() < places_; });
    }
    crew_->jobs.push_back(std::move(task));
  }
  crew_->came.notify_one();
  return done;
}

void TopologyWorkers::collect(std::vector<std::future<void>>& jobs) {
  crew_->home.require("[topology workers] the crew");
  if (!std::all_of(jobs.begin(), jobs.end(), is_done)) {
    const CountedWait wait(waits_);
    for (const std::future<void>& job : jobs)
      job.wait();
  }
  for (std::future<void>& job : jobs)
    job.get();
}

void TopologyWorkers::Crew::live(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "headrace-topo");
  give_way(lower_priority);
  for (;;) {
    std::packaged_task<void()> job;
    {
      std::unique_lock lock(mutex);
      came.wait(lock, stop, [this] { return !jobs.empty(); });
      if (stop.stop_requested()) return;
      job = std::move(jobs.front());
      jobs.pop_front();
    }
    begun.notify_one();
    job();
  }
}

}  // namespace headrace::inline v1::models
