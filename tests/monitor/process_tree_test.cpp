// Trees of processes as a sampler sees them.
#include <headrace/monitor/system/system_sampler.h>
#include <headrace/tests/support/no_more_files.h>

#include "fake_process.h"

#include <cstdint>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>

using namespace headrace::monitor;
using headrace::test::end;
using headrace::test::FakeRoot;
using headrace::test::NoMoreFiles;
using headrace::test::read_so_far;
using headrace::test::run;
using headrace::test::tick_s;
using headrace::test::watching;

TEST_CASE("a tree is a process and all that descend from it, and nobody else") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 50});
  run(root, {.pid = 90, .parent = 101, .ticks = 7});  // numbers say nothing of who came first
  run(root, {.pid = 101, .parent = 100, .ticks = 20});
  run(root, {.pid = 200, .ticks = 1000});
  SystemSampler sampler(watching(root, 100));
  SystemSample sample = sampler.sample();
  CHECK(sample.tree.lives);
  CHECK(sample.tree.processes == 3);
  CHECK(sample.tree.threads == 6);
  CHECK(sample.tree.cpu_s == doctest::Approx(77 * tick_s()));
  CHECK(sample.tree.cores == 0.0);
  CHECK_FALSE(sample.tree.reads_told);
  CHECK(sample.tree.resident == 30U * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));

  run(root, {.pid = 101, .parent = 100, .ticks = 40});
  run(root, {.pid = 102, .parent = 90, .ticks = 10});  // new
  sample = sampler.sample();
  CHECK(sample.tree.processes == 4);
  CHECK(sample.tree.cores * sample.interval_s == doctest::Approx(30 * tick_s()));
}

TEST_CASE("CPU time of those that ended stays counted, once, whether their parent asked or not") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 50});
  run(root, {.pid = 101, .parent = 100, .ticks = 200});
  run(root, {.pid = 102, .parent = 101, .ticks = 30});
  SystemSampler sampler(watching(root, 100));
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(280 * tick_s()));

  end(root, 102);  // 101 asked; it used 5 more before it ended
  run(root, {.pid = 101, .parent = 100, .ticks = 200, .child_ticks = 35});
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(285 * tick_s()));

  end(root, 101);  // 100 asked
  run(root, {.pid = 100, .ticks = 50, .child_ticks = 240});
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(290 * tick_s()));

  run(root, {.pid = 103, .parent = 100, .ticks = 60});
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(350 * tick_s()));
  end(root, 103);  // nobody asked
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(350 * tick_s()));
  run(root, {.pid = 100, .ticks = 60, .child_ticks = 240});
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(360 * tick_s()));
}

TEST_CASE("a child whose parent ended first stays of the tree") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 1});
  run(root, {.pid = 101, .parent = 100, .ticks = 2});
  run(root, {.pid = 102, .parent = 101, .ticks = 4});
  SystemSampler sampler(watching(root, 100));
  sampler.sample();
  end(root, 101);
  run(root, {.pid = 100, .ticks = 1, .child_ticks = 2});
  run(root, {.pid = 102, .parent = 1, .ticks = 14});
  const TreeUse tree = sampler.sample().tree;
  CHECK(tree.processes == 2);
  CHECK(tree.cpu_s == doctest::Approx(17 * tick_s()));
}

TEST_CASE("another process under the number of one that ended is not taken for it") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 10});
  run(root, {.pid = 101, .parent = 100, .ticks = 500, .start = 7});
  SystemSampler sampler(watching(root, 100));
  sampler.sample();
  run(root, {.pid = 100, .ticks = 10, .child_ticks = 500});
  run(root, {.pid = 101, .parent = 1, .ticks = 3, .start = 900});
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(510 * tick_s()));
  CHECK(sampler.sample().tree.processes == 1);
  end(root, 101);
  sampler.sample();
  run(root, {.pid = 101, .parent = 100, .ticks = 4, .start = 901});  // and one of ours once more
  CHECK(sampler.sample().tree.processes == 2);
}

TEST_CASE("new children are found among those that the kernel lists, once something was made") {
  const FakeRoot root;
  const auto children = [&](int pid, const char* list) {
    root.write(fmt::format("proc/{}/task/{}/children", pid, pid), list);
  };
  const auto made = [&](int pid) {
    root.write("proc/loadavg", fmt::format("1 1 1 1/9 {}\n", pid));
  };
  for (int other = 1000; other < 1020; ++other)
    run(root, {.pid = other});
  run(root, {.pid = 100, .ticks = 10});
  children(100, "");
  made(100);
  SystemSampler sampler(watching(root, 100));
  sampler.sample();
  sampler.sample();
  run(root, {.pid = 101, .parent = 100, .ticks = 5});
  run(root, {.pid = 102, .parent = 101, .ticks = 5});
  children(100, "101 ");
  children(101, "102 ");
  CHECK(sampler.sample().tree.processes == 1);  // nothing was made: nobody looks
  made(102);
  CHECK(sampler.sample().tree.processes == 3);
  CHECK(sampler.sample().tree.cpu_s == doctest::Approx(20 * tick_s()));
  made(103);
  sampler.sample();
  run(root, {.pid = 103, .parent = 102, .ticks = 5});
  children(102, "103 ");  // the list had missed it
  CHECK(sampler.sample().tree.processes == 4);
}

TEST_CASE("a process that ended is seen to have ended, also before its parent asked") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 10});
  SystemSampler sampler(watching(root, 100));
  CHECK(sampler.sample().tree.lives);
  run(root, {.pid = 100, .ticks = 12, .state = 'Z'});
  SystemSample sample = sampler.sample();
  CHECK_FALSE(sample.tree.lives);
  CHECK(sample.tree.cpu_s == doctest::Approx(12 * tick_s()));
  end(root, 100);
  sample = sampler.sample();
  CHECK_FALSE(sample.tree.lives);
  CHECK(sample.tree.processes == 0);
  CHECK(sample.tree.cpu_s == doctest::Approx(12 * tick_s()));
}

TEST_CASE("a moment in which no file can be opened does not end a tree") {
  const FakeRoot root;
  root.write("proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\n");
  run(root, {.pid = 100, .ticks = 50});
  run(root, {.pid = 101, .parent = 100, .ticks = 20});
  read_so_far(root, 100, 1'000'000, 500'000);
  SystemSampler sampler(watching(root, 100));
  CHECK(sampler.sample().tree.reads_told);
  {
    const NoMoreFiles none;
    const TreeUse tree = sampler.sample().tree;
    CHECK(tree.lives);
    CHECK(tree.processes == 2);
  }
  root.write("proc/stat", "cpu  130 0 110 740 110 0 0 10 0 0\n");
  run(root, {.pid = 100, .ticks = 60});
  const SystemSample sample = sampler.sample();
  CHECK(sample.tree.lives);
  CHECK(sample.tree.processes == 2);
  CHECK(sample.tree.cpu_s == doctest::Approx(80 * tick_s()));
  CHECK_FALSE(sample.tree.reads_told);  // since when, nobody knows
  CHECK(sampler.sample().tree.reads_told);
  CHECK(sample.machine_share == doctest::Approx(0.5));  // since counters were read, not since boot
}

TEST_CASE("a stranger that gets the number of a process that has ended is not watched") {
  const FakeRoot root;
  run(root, {.pid = 100, .ticks = 50});
  run(root, {.pid = 101, .parent = 100, .ticks = 20});
  SystemSampler sampler(watching(root, 100));
  sampler.sample();
  end(root, 100);
  run(root, {.pid = 101, .ticks = 20});
  CHECK_FALSE(sampler.sample().tree.lives);
  run(root, {.pid = 100, .ticks = 7000, .start = 99});
  const TreeUse tree = sampler.sample().tree;
  CHECK_FALSE(tree.lives);
  CHECK(tree.processes == 1);
  CHECK(tree.cpu_s == doctest::Approx(70 * tick_s()));
}
