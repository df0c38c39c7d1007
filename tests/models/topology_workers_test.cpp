#include <headrace/engine/base/error.h>
#include <headrace/engine/base/give_way.h>
#include <headrace/models/losses/topology_workers.h>
#include <headrace/tests/support/forked_child.h>

#include "../support/torch_doctest.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace headrace::models;
using namespace std::chrono_literals;

namespace {

using Jobs = std::vector<std::future<void>>;

// As the kernel tells it: 'S' of a thread that waits, 'R' of one that does not, with a core or not.
char state_of_thread(int id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  return stat.at(stat.rfind(')') + 2);
}

// Opened by a thread of its own once the calling one waits.
std::jthread open_for_waiting(std::promise<void>& gate) {
  return std::jthread([&gate, id = static_cast<int>(::gettid())] {
    for (int asleep = 0; asleep < 20;) {
      std::this_thread::sleep_for(1ms);
      asleep = state_of_thread(id) == 'S' ? asleep + 1 : 0;
    }
    gate.set_value();
  });
}

}  // namespace

TEST_CASE("jobs are done behind the steps' threads, and their errors come to who collects them") {
  TopologyWorkers workers({.threads = 3});
  std::atomic<int> done = 0;
  std::atomic<int> priorities = 0;
  Jobs jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back(workers.submit([&, i] {
      ++done;
      priorities += ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
      if (i % 7 == 4) throw std::runtime_error("job " + std::to_string(i));
    }));
  CHECK_THROWS_WITH_AS(workers.collect(jobs), "job 4", std::runtime_error);
  CHECK(done == 20);
  CHECK(priorities == 20 * headrace::lower_priority);
  Jobs more;
  more.push_back(workers.submit([&] { ++done; }));
  workers.collect(more);
  CHECK(done == 21);
}

TEST_CASE("what is done before it is asked for is no wait, what is not is counted") {
  TopologyWorkers workers({.threads = 1});
  Jobs jobs;
  jobs.push_back(workers.submit([] {}));
  jobs.back().wait();
  workers.collect(jobs);
  CHECK(workers.waits().count == 0);
  CHECK(workers.waits().seconds == 0.0);
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  Jobs held;
  held.push_back(workers.submit([open] { open.wait(); }));
  held.push_back(workers.submit([] {}));
  const std::jthread opener = open_for_waiting(gate);
  workers.collect(held);
  CHECK(workers.waits().count == 1);
  CHECK(workers.waits().seconds > 0.0);
}

TEST_CASE("with all places taken submit waits, and that is counted") {
  TopologyWorkers workers({.threads = 1, .places = 1});
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::latch begun(1);
  std::vector<int> order;
  Jobs jobs;
  jobs.push_back(workers.submit([&, open] {
    begun.count_down();
    open.wait();
    order.push_back(0);
  }));
  begun.wait();
  jobs.push_back(workers.submit([&] { order.push_back(1); }));
  CHECK(workers.waits().count == 0);
  const std::jthread opener = open_for_waiting(gate);
  jobs.push_back(workers.submit([&] { order.push_back(2); }));
  CHECK(workers.waits().count == 1);
  workers.collect(jobs);
  CHECK(order == std::vector<int>{0, 1, 2});
}

TEST_CASE("taken down while busy, the workers finish what they began and drop the rest") {
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::latch begun(2);
  std::atomic<int> done = 0;
  std::optional<TopologyWorkers> workers(std::in_place,
                                         TopologyWorkersOptions{.threads = 2, .places = 1000});
  Jobs jobs;
  for (int i = 0; i < 2; ++i)
    jobs.push_back(workers->submit([&, open] {
      begun.count_down();
      open.wait();
      ++done;
    }));
  for (int i = 0; i < 1000; ++i)
    jobs.push_back(workers->submit([&] {
      std::this_thread::sleep_for(10ms);
      ++done;
    }));
  begun.wait();
  const std::jthread opener = open_for_waiting(gate);
  workers.reset();
  CHECK_NOTHROW(jobs[0].get());
  CHECK_NOTHROW(jobs[1].get());
  CHECK(done < 1002);
  CHECK_THROWS_AS(jobs.back().get(), std::future_error);
}

TEST_CASE("workers without a thread or a place are refused") {
  CHECK_THROWS_WITH_AS(
      TopologyWorkers({.threads = 0}),
      "[topology workers] at least one thread and one place are needed, got 0 and 64",
      headrace::ConfigError);
  CHECK_THROWS_AS(TopologyWorkers({.places = 0}), headrace::ConfigError);
}

TEST_CASE("a forked process is told that the workers' threads are not in it" *
          doctest::skip(headrace::test::cannot_fork)) {
  auto workers = std::make_unique<TopologyWorkers>(TopologyWorkersOptions{.threads = 2});
  std::promise<void> gate;
  Jobs jobs;
  jobs.push_back(workers->submit([opened = gate.get_future().share()] { opened.wait(); }));
  const std::string said = headrace::test::in_a_child([&] {
    std::string all;
    try {
      workers->submit([] {});
    } catch (const headrace::PipelineError& error) {
      all = error.what();
    }
    try {
      workers->collect(jobs);
    } catch (const headrace::PipelineError& error) {
      all += error.what();
    }
    workers.reset();
    return all;
  });
  CHECK(said.find("[topology workers] the crew was made in process " +
                  std::to_string(::getpid())) == 0);
  CHECK(said.rfind("make it after the fork") > said.size() / 2);
  gate.set_value();
  workers->collect(jobs);
}
