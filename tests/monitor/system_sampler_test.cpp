#include <headrace/engine/base/error.h>
#include <headrace/monitor/system/system_sampler.h>

#include "fake_process.h"

#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace headrace::monitor;
using headrace::test::FakeRoot;
using headrace::test::read_so_far;
using headrace::test::run;
using headrace::test::tick_s;
using headrace::test::watching;

TEST_CASE("a process that does not run cannot be watched") {
  const FakeRoot root;
  run(root, {.pid = 100, .state = 'Z'});
  CHECK_THROWS_AS(SystemSampler(watching(root, 100)), headrace::ConfigError);
  CHECK_THROWS_WITH_AS(SystemSampler(watching(root, 99)),
                       doctest::Contains("got 99, which is not there"), headrace::ConfigError);
}

TEST_CASE("what a tree reads, and its faults, are rates over the interval") {
  const FakeRoot root;
  run(root, {.pid = 100});
  run(root, {.pid = 101, .parent = 100});
  read_so_far(root, 100, 1000, 0);
  read_so_far(root, 101, 2000, 512);
  root.write("proc/100/fd/0", "");
  root.write("proc/100/fd/17", "");
  root.write("proc/100/status", "RssAnon:\t 300 kB\nRssShmem:\t 100 kB\n");
  SystemSampler sampler(watching(root, 100));
  run(root, {.pid = 101, .parent = 100, .major_faults = 4});
  read_so_far(root, 101, 7000, 4608);
  const SystemSample sample = sampler.sample();
  CHECK(sample.tree.reads_told);
  CHECK(sample.tree.read_per_s * sample.interval_s == doctest::Approx(5000));
  CHECK(sample.tree.read_from_disk_per_s * sample.interval_s == doctest::Approx(4096));
  CHECK(sample.tree.major_faults_per_s * sample.interval_s == doctest::Approx(4));
  CHECK(sample.tree.open_files == 2);
  CHECK(sample.memory.held() == 400 * 1024);
}

TEST_CASE(
    "disks, networks, pressure and memory are the machine's, partitions and loopback left out") {
  const FakeRoot root;
  const auto machine = [&](int sectors, int busy_ms, int received, int waited_us) {
    root.write("proc/diskstats",
               fmt::format("259 0 nvme0n1 10 0 {} 5 20 0 16 5 0 {} 9 0 0 0 0 0 0\n"
                           "259 1 nvme0n1p1 10 0 {} 5 20 0 16 5 0 {} 9 0 0 0 0 0 0\n"
                           "7 0 loop0 3 0 8 5 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                           "8 0 sda 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                           sectors, busy_ms, sectors, busy_ms));
    root.write("proc/net/dev", fmt::format("Inter-| Receive | Transmit\n face |bytes packets\n"
                                           "    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
                                           "  eth0:{} 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n"
                                           "  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                                           received));
    root.write("proc/pressure/io",
               fmt::format("some avg10=0.00 total={}\nfull total=0\n", waited_us));
    root.write("proc/stat", fmt::format("cpu  {} 0 0 100 0 0 0 0 0 0\n", busy_ms));
  };
  for (const bool with_sysfs : {false, true}) {
    if (with_sysfs)
      for (const char* name : {"nvme0n1", "sda", "loop0"})
        root.write(fmt::format("sys/block/{}/size", name), "1\n");
    machine(100, 100, 1000, 0);
    root.write("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 1024 kB\n");
    SystemSampler sampler(watching(root, SystemSamplerOptions::nobody));
    machine(108, 200, 4000, 1);
    const SystemSample sample = sampler.sample();
    REQUIRE(sample.disks.size() == 1);
    CHECK(sample.disks[0].name == "nvme0n1");
    CHECK(sample.disks[0].read_per_s * sample.interval_s == doctest::Approx(8 * 512));
    CHECK(sample.disks[0].written_per_s == 0.0);
    CHECK(sample.disks[0].busy_share > 0.0);
    REQUIRE(sample.networks.size() == 1);
    CHECK(sample.networks[0].name == "eth0");
    CHECK(sample.networks[0].received_per_s * sample.interval_s == doctest::Approx(3000));
    CHECK(sample.networks[0].sent_per_s == 0.0);
    REQUIRE(sample.pressure);
    CHECK(sample.pressure->io_some > 0.0);
    CHECK(sample.host.available == 1024 * 1024);
    CHECK(sample.machine_share == doctest::Approx(1.0));
    CHECK(sample.tree.processes == 0);
    CHECK_FALSE(sample.no_gpu.empty());
  }
}

TEST_CASE(
    "the busiest are those since the last look, also one that is new, and the tree is marked") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 10});
  run(root, {.pid = 101, .parent = 100, .ticks = 10});
  run(root, {.pid = 200, .ticks = 5000});
  SystemSampler sampler(watching(root, 100));
  SystemSample sample = sampler.sample();
  sampler.add_busiest(sample);
  CHECK(sample.busiest.empty());
  run(root, {.pid = 101, .parent = 100, .ticks = 40});
  run(root, {.pid = 300, .ticks = 90});
  sample = sampler.sample();
  sampler.add_busiest(sample);
  REQUIRE(sample.busiest.size() == 2);
  CHECK(sample.busiest[0].pid == 300);
  CHECK_FALSE(sample.busiest[0].ours);
  CHECK(sample.busiest[1].pid == 101);
  CHECK(sample.busiest[1].name == "worker (101)");
  CHECK(sample.busiest[1].ours);
  CHECK(sample.busiest[0].cores / sample.busiest[1].cores == doctest::Approx(3.0));
}

TEST_CASE("an allocator's counters are asked for, and what it throws is dropped") {
  const FakeRoot root;
  run(root, {.pid = 100});
  auto options = watching(root, 100);
  bool fails = false;
  options.allocator = [&]() -> std::optional<AllocatorCounters> {
    if (fails) throw std::runtime_error("no GPU");
    return AllocatorCounters{.allocated = 5};
  };
  SystemSampler sampler(options);
  CHECK(sampler.sample().allocator.value().allocated == 5);
  fails = true;
  CHECK_FALSE(sampler.sample().allocator);
}

TEST_CASE("of this process the sums agree with what the kernel tells itself, children included") {
  SystemSampler sampler({.nvml_library = ""});
  const auto burn = [](double seconds) {
    volatile double sink = 0.0;
    rusage use{};
    do {
      for (int i = 0; i < 100'000; ++i)
        sink = sink + 1.0;
      getrusage(RUSAGE_SELF, &use);
    } while (static_cast<double>(use.ru_utime.tv_sec) +
                 1e-6 * static_cast<double>(use.ru_utime.tv_usec) <
             seconds);
  };
  std::array<int, 2> hold{};
  REQUIRE(pipe(hold.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    burn(0.15);
    close(hold[1]);
    char byte = 0;
    while (read(hold[0], &byte, 1) < 0) {
    }
    _exit(0);
  }
  close(hold[0]);
  double living = 0.0;
  while (living < 0.1)
    living = sampler.sample().tree.cpu_s;
  CHECK(sampler.sample().tree.processes == 2);
  close(hold[1]);
  int status = 0;
  waitpid(child, &status, 0);
  const SystemSample sample = sampler.sample();
  double expected = 0.0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use{};
    getrusage(who, &use);
    for (const timeval& part : {use.ru_utime, use.ru_stime})
      expected += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  CHECK(sample.tree.processes == 1);
  CHECK(sample.tree.cpu_s >= living);
  CHECK(std::abs(sample.tree.cpu_s - expected) < 6 * tick_s());
  CHECK(sample.tree.open_files >= 3);
  CHECK(sample.memory.held() > 0);
  CHECK(sample.tree.resident >= sample.memory.anonymous / 2);
  CHECK(sample.cores >= 1);
}
