#include <headrace/monitor/system/cpu_usage.h>

#include "fake_root.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <pthread.h>
#include <unistd.h>

using namespace headrace::monitor;
using headrace::test::FakeRoot;
using namespace std::chrono_literals;

namespace {

double cpu_s(std::thread& thread) {
  clockid_t clock{};
  timespec time{};
  pthread_getcpuclockid(thread.native_handle(), &clock);
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

TEST_CASE("a busy thread shows under its name and a sleeping one does not") {
  std::atomic<bool> stop = false;
  CpuSampler sampler;
  std::thread busy([&] {
    pthread_setname_np(pthread_self(), "test-busy");
    while (!stop) {
    }
  });
  std::thread idle([&] {
    pthread_setname_np(pthread_self(), "test-idle");
    while (!stop)
      std::this_thread::sleep_for(5ms);
  });
  while (cpu_s(busy) < 0.2)
    std::this_thread::sleep_for(5ms);
  const double least_busy = cpu_s(busy);
  const CpuUsage usage = sampler.sample();
  const double most_busy = cpu_s(busy);
  const double most_idle = cpu_s(idle);
  stop = true;
  busy.join();
  idle.join();

  double busy_cores = -1;
  double idle_cores = -1;
  for (const ThreadUsage& thread : usage.threads) {
    if (thread.name == "test-busy") busy_cores = thread.cores;
    if (thread.name == "test-idle") idle_cores = thread.cores;
  }
  const double ticks = 4.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  CHECK(busy_cores * usage.interval_s >= least_busy - ticks);
  CHECK(busy_cores * usage.interval_s <= most_busy + ticks);
  CHECK(idle_cores >= 0.0);
  CHECK(idle_cores * usage.interval_s <= most_idle + ticks);
  CHECK(idle_cores < busy_cores);
  CHECK(usage.process_cores * usage.interval_s >= least_busy - ticks);
  CHECK(usage.process_share > 0.0);
  CHECK(usage.process_share <= 1.0);
  CHECK(usage.interval_s >= 0.2);
}

TEST_CASE("machine shares are differences of the kernel's counters") {
  const FakeRoot root;
  root.write("proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\n");
  root.write("proc/pressure/io",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull total=5\n");
  CpuSampler sampler(root.path());
  root.write("proc/stat", "cpu  130 0 110 740 110 0 0 10 0 0\ncpu0 1 1 1 1\n");
  root.write("proc/pressure/io",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000\nfull total=5\n");
  std::this_thread::sleep_for(2ms);
  const CpuUsage usage = sampler.sample();
  CHECK(usage.machine_share == doctest::Approx(0.5));
  CHECK(usage.iowait_share == doctest::Approx(0.1));
  CHECK(usage.steal_share == doctest::Approx(0.1));
  REQUIRE(usage.io_pressure_share);
  CHECK(*usage.io_pressure_share > 0.0);
  CHECK(*usage.io_pressure_share == doctest::Approx(0.001 / usage.interval_s));
}

TEST_CASE("no pressure file means no pressure figure") {
  const FakeRoot root;
  CpuSampler sampler(root.path());
  CHECK_FALSE(sampler.sample().io_pressure_share);
}

TEST_CASE("the busiest processes are named, ours marked") {
  const FakeRoot root;
  const std::string own = std::to_string(getpid());
  const auto stat = [](const std::string& pid, const std::string& name, int ticks) {
    return pid + " (" + name + ") S 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) +
           " 0 0 0 20 0 1 0\n";
  };
  root.write("proc/" + own + "/stat", stat(own, "mine (a) b", 100));
  root.write("proc/999999/stat", stat("999999", "other", 100));
  root.write("proc/999998/stat", stat("999998", "quiet", 100));
  const ProcessTicks before = read_process_ticks(root.path());
  root.write("proc/" + own + "/stat", stat(own, "mine (a) b", 150));
  root.write("proc/999999/stat", stat("999999", "other", 300));
  const auto busiest = busiest_processes(before, read_process_ticks(root.path()), 1.0);
  REQUIRE(busiest.size() == 2);
  CHECK(busiest[0].name == "other");
  CHECK_FALSE(busiest[0].ours);
  CHECK(busiest[1].name == "mine (a) b");
  CHECK(busiest[1].ours);
  CHECK(busiest[1].cores == doctest::Approx(50.0 / sysconf(_SC_CLK_TCK)));
  CHECK(busiest_processes(before, read_process_ticks(root.path()), 1.0, 1).size() == 1);
}

TEST_CASE("a process that got the number of one that ended is counted from its beginning") {
  const ProcessTicks before{{50, {"ended", 9000}}};
  const ProcessTicks after{{50, {"fresh", 300}}};
  const auto busiest = busiest_processes(before, after, 1.0);
  REQUIRE(busiest.size() == 1);
  CHECK(busiest[0].name == "fresh");
  CHECK(busiest[0].cores == doctest::Approx(300.0 / sysconf(_SC_CLK_TCK)));
}

TEST_CASE("a name with line ends and escapes is told in one line that can be printed") {
  const FakeRoot root;
  root.write("proc/50/stat", "50 (a)\n\x1b[2J\xff b) S 1 1 1 0 -1 0 0 0 0 0 7 0 0 0 20 0 1 0\n");
  const ProcessTicks ticks = read_process_ticks(root.path());
  REQUIRE(ticks.contains(50));
  CHECK(ticks.at(50).first == "a)\\x0a\\x1b[2J\\xff b");
  CHECK(ticks.at(50).second == 7);
}
