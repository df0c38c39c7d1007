#include <headrace/monitor/memory/process_memory.h>

#include "fake_root.h"
#include "memory_units.h"

#include <cstring>
#include <memory>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::FakeRoot;
using headrace::test::gib;

namespace {

constexpr std::uint64_t kib = 1024;

}  // namespace

TEST_CASE("process memory counts anonymous and shared pages, files apart") {
  const FakeRoot root;
  root.write("proc/self/status",
             "Name:\tx\nVmHWM:\t 900 kB\nVmLck:\t 64 kB\nVmPin:\t 0 kB\nRssAnon:\t 300 "
             "kB\nRssFile:\t 500 kB\n"
             "RssShmem:\t 100 kB\nVmData:\t 7000 kB\n");
  ProcessMemory memory = read_process_memory(root.path());
  CHECK(memory.anonymous == 300 * kib);
  CHECK(memory.shared == 100 * kib);
  CHECK(memory.file_backed == 500 * kib);
  CHECK(memory.page_locked == 64 * kib);
  CHECK(memory.peak_resident == 900 * kib);
  CHECK(memory.data_segment == 7000 * kib);
  CHECK(memory.held() == 400 * kib);
  memory.driver_locked = kib;
  CHECK(memory.held() == 401 * kib);
}

TEST_CASE("this process's own memory grows by what it touches") {
  const ProcessMemory before = read_process_memory();
  constexpr std::size_t size = 64 << 20;
  const auto block = std::make_unique_for_overwrite<char[]>(size);
  std::memset(block.get(), 1, size);
  const ProcessMemory after = read_process_memory();
  CHECK(after.held() >= before.held() + size * 9 / 10);
  CHECK(after.peak_resident >= after.held());
  CHECK(block[size / 2] == 1);
}

TEST_CASE("a v2 cgroup's limit is the tightest on the way up") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/jobs/run1\n");
  root.write("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n");
  root.write("sys/fs/cgroup/cgroup.controllers", "memory cpu\n");
  root.write("sys/fs/cgroup/jobs/memory.max", "4294967296\n");
  root.write("sys/fs/cgroup/jobs/memory.current", "3221225472\n");
  root.write("sys/fs/cgroup/jobs/memory.stat",
             "anon 1\ninactive_file 1073741824\nactive_file 268435456\nslab_reclaimable "
             "268435456\n");
  root.write("sys/fs/cgroup/jobs/run1/memory.max", "max\n");
  root.write("sys/fs/cgroup/jobs/run1/memory.current", "1073741824\n");

  const HostMemory host = read_host_memory(root.path());
  CHECK(host.total == 64 * gib);
  CHECK(host.available == 32 * gib);
  REQUIRE(host.cgroup_limit);
  CHECK(*host.cgroup_limit == 4 * gib);
  CHECK(host.cgroup_usage == 2 * gib);
  CHECK(host.cgroup_held == gib + gib / 2);
  CHECK(host.room() == 2 * gib);

  root.write("sys/fs/cgroup/jobs/run1/memory.high", "2147483648\n");
  CHECK(*read_host_memory(root.path()).cgroup_limit == 2 * gib);
}

TEST_CASE("a limit is compared with what the one who set it counts") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/jobs\n");
  root.write("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n");
  root.write("sys/fs/cgroup/jobs/memory.max", "4294967296\n");
  root.write("sys/fs/cgroup/jobs/memory.current", "3221225472\n");
  root.write("sys/fs/cgroup/jobs/memory.stat", "inactive_file 0\nactive_file 1073741824\n");
  const ProcessMemory memory{.anonymous = gib, .data_segment = 3 * gib};
  const MemoryUse own =
      memory_use({.bytes = 4 * gib, .source = "configuration"}, memory, root.path());
  CHECK(own.bytes == gib);
  CHECK(own.share() == 0.25);
  const MemoryUse data = memory_use({.bytes = 4 * gib, .source = "RLIMIT_DATA"}, memory, "/");
  CHECK(data.bytes == 3 * gib);
  CHECK(data.share() == doctest::Approx(0.75 / 0.98));
  const MemoryLimit of_cgroup{.bytes = 4 * gib, .source = "cgroup memory.max"};
  const MemoryUse with_others = memory_use(of_cgroup, memory, root.path());
  CHECK(with_others.bytes == 2 * gib);
  CHECK(with_others.share() == doctest::Approx(0.5 / 0.98));
  CHECK(memory_use(of_cgroup, {.anonymous = 3 * gib}, root.path()).bytes == 3 * gib);
  CHECK(MemoryUse{.bytes = gib}.share() == 0.0);
}

TEST_CASE("a v1 cgroup's limit is found and the largest number means none") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:memory:/box/inner\n1:cpu,cpuacct:/box\n0::/\n");
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 8388608 kB\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(read_host_memory(root.path()).cgroup_limit);

  root.write("sys/fs/cgroup/memory/box/inner/memory.limit_in_bytes", "2147483648\n");
  root.write("sys/fs/cgroup/memory/box/inner/memory.usage_in_bytes", "1610612736\n");
  root.write("sys/fs/cgroup/memory/box/inner/memory.stat",
             "cache 7\ntotal_inactive_file 536870912\n");
  const HostMemory host = read_host_memory(root.path());
  REQUIRE(host.cgroup_limit);
  CHECK(*host.cgroup_limit == 2 * gib);
  CHECK(host.cgroup_usage == 1 * gib);
  CHECK(host.cgroup_file.ends_with("memory/box/inner/memory.limit_in_bytes"));
}

TEST_CASE("a cgroup path that does not exist here falls back to its nearest parent") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/outside/of/this/namespace\n");
  root.write("sys/fs/cgroup/memory.max", "1073741824\n");
  root.write("sys/fs/cgroup/memory.current", "5\n");
  CHECK(read_host_memory(root.path()).cgroup_limit.value_or(0) == gib);
}

TEST_CASE("the tightest memory limit names who set it") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/a\n");
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 1 kB\n");
  CHECK(tightest_memory_limit({}, root.path()).source == "machine");
  CHECK(tightest_memory_limit({}, root.path()).bytes == 8 * gib);
  root.write("sys/fs/cgroup/a/memory.max", "4294967296\n");
  CHECK(tightest_memory_limit({}, root.path()).source.starts_with("cgroup "));
  CHECK(tightest_memory_limit(5 * gib, root.path()).bytes == 4 * gib);
  CHECK(tightest_memory_limit(3 * gib, root.path()).bytes == 3 * gib);
  CHECK(tightest_memory_limit(3 * gib, root.path()).source == "configuration");
}

TEST_CASE("usable cores are the affinity cut by the quota rounded up") {
  CHECK(usable_cores(16, std::nullopt) == 16);
  CHECK(usable_cores(16, 1.5) == 2);
  CHECK(usable_cores(16, 2.0) == 2);
  CHECK(usable_cores(2, 8.0) == 2);
  CHECK(usable_cores(16, 0.1) == 1);
  CHECK(usable_cores() >= 1);
}

TEST_CASE("a CPU quota is read from v2 and from v1") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "3:cpu,cpuacct:/box\n0::/box\n");
  CHECK_FALSE(cpu_quota(root.path()));
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(cpu_quota(root.path()));
  root.write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "250000\n");
  CHECK(cpu_quota(root.path()).value_or(0) == doctest::Approx(2.5));
  root.write("sys/fs/cgroup/box/cpu.max", "150000 100000\n");
  CHECK(cpu_quota(root.path()).value_or(0) == doctest::Approx(1.5));
  root.write("sys/fs/cgroup/box/cpu.max", "max 100000\n");
  CHECK(cpu_quota(root.path()).value_or(0) == doctest::Approx(2.5));
}

TEST_CASE("a machine without any of the files gives zeros, not an error") {
  const FakeRoot root;
  CHECK(read_process_memory(root.path()).held() == 0);
  CHECK(read_host_memory(root.path()).room() == 0);
  CHECK_FALSE(cpu_quota(root.path()));
}
