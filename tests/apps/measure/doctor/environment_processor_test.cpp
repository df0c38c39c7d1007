#include <headrace/apps/measure/doctor/checks/checks.h>

#include "healthy_machine.h"

#include <doctest/doctest.h>

using namespace headrace::app;
using headrace::monitor::Severity;
using headrace::test::HealthyMachine;

TEST_CASE("more loader threads than the quota has cores is a warning, in v2 and in v1") {
  HealthyMachine machine;
  machine.options.needs.loader_threads = 16;
  SUBCASE("v2") {
    machine.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  }
  SUBCASE("v1") {
    machine.write("proc/self/cgroup", "4:cpu,cpuacct:/job\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    machine.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  }
  CHECK(machine.finding("CPU quota").found == "1.50 cores of 4 CPUs");
  const Finding threads = machine.finding("threads.loader");
  CHECK(threads.severity == Severity::warning);
  CHECK(threads.found == "16 on 1.50 cores");
  CHECK(threads.wanted == "at most 8");
  CHECK(threads.way_out.starts_with("set threads.loader: 8"));
}

TEST_CASE("workers that sleep may be more than the cores: four times, or what a trial bears") {
  HealthyMachine machine;
  machine.options.needs = {.loader_threads = 16};
  CHECK(machine.finding("threads.loader").severity == Severity::info);
  machine.options.needs.loader_threads = 17;
  CHECK(machine.finding("threads.loader").severity == Severity::warning);
  machine.options.needs.process_share = 0.89;
  CHECK(machine.finding("threads.loader").severity == Severity::info);
  machine.options.needs = {.loader_threads = 5, .process_share = 0.9};
  CHECK(machine.finding("threads.loader").way_out.starts_with("set threads.loader: 4"));
}

TEST_CASE("as many threads as cores are right, one more is not, and 0 takes what there is") {
  HealthyMachine machine;
  machine.options.needs = {.loader_threads = 4, .torch_threads = 5};
  CHECK(machine.finding("threads.loader").severity == Severity::info);
  CHECK(machine.finding("threads.torch").severity == Severity::warning);
  machine.options.needs = {};
  CHECK(machine.finding("threads.loader").found == "0, which takes 4");
}

TEST_CASE("a quota is unknown where the cgroup or the affinity cannot be read") {
  HealthyMachine machine;
  CHECK(machine.finding("CPU quota").found == "none, 4 CPUs");
  machine.remove("proc/self/cgroup");
  CHECK_FALSE(machine.finding("CPU quota").known);
  machine.facts().affinity.clear();
  CHECK_FALSE(machine.finding("CPU quota").known);
}

TEST_CASE("the governor powersave is a warning unless the driver follows the load") {
  const HealthyMachine machine;
  const std::string clock = "sys/devices/system/cpu/cpu2/cpufreq/";
  machine.write(clock + "scaling_governor", "powersave\n");
  const Finding slow = machine.finding("CPU governor");
  CHECK(slow.severity == Severity::warning);
  CHECK(slow.found == "performance on 3 CPUs, powersave on 1 CPU");
  machine.write(clock + "scaling_driver", "intel_pstate\n");
  machine.write(clock + "energy_performance_preference", "balance_performance\n");
  CHECK(machine.finding("CPU governor").severity == Severity::info);
  machine.write(clock + "energy_performance_preference", "power\n");
  CHECK(machine.finding("CPU governor").severity == Severity::warning);
  machine.remove("sys/devices/system/cpu");
  CHECK_FALSE(machine.finding("CPU governor").known);
}

TEST_CASE("a virtual machine is named, and time that it loses is a warning") {
  HealthyMachine machine;
  CHECK(machine.finding("virtual machine").found == "no");
  machine.write("proc/cpuinfo", "flags : fpu hypervisor sse2\n");
  CHECK(machine.finding("virtual machine").found == "yes");
  CHECK(machine.finding("virtual machine").severity == Severity::info);
  machine.facts().others->steal_share = 0.05;
  CHECK(machine.finding("CPU time stolen").severity == Severity::info);
  machine.facts().others->steal_share = 0.06;
  CHECK(machine.finding("CPU time stolen").severity == Severity::warning);
  machine.facts().others.reset();
  CHECK_FALSE(machine.finding("CPU time stolen").known);
}

TEST_CASE("load by others is named by process, and worse the more it takes") {
  HealthyMachine machine;
  machine.facts().others->cores = 0.2;
  CHECK(machine.finding("load by others").severity == Severity::info);
  machine.facts().others->cores = 0.3;
  CHECK(machine.finding("load by others").severity == Severity::notice);
  machine.facts().others->cores = 1.5;
  machine.facts().others->busiest = {{.pid = 4711, .name = "stress", .cores = 1.4}};
  const Finding hog = machine.finding("load by others");
  CHECK(hog.severity == Severity::warning);
  CHECK(hog.found == "1.5 of 4 CPUs: stress 4711 (1.4 cores)");
  machine.facts().others.reset();
  CHECK_FALSE(machine.finding("load by others").known);
}

TEST_CASE("an affinity over several nodes, or off the GPU's, says how to bind the run") {
  HealthyMachine machine;
  CHECK(machine.finding("NUMA").severity == Severity::info);
  machine.write("sys/devices/system/node/node0/cpulist", "0-1\n");
  machine.write("sys/devices/system/node/node1/cpulist", "2-3\n");
  machine.write("sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
  const Finding both = machine.finding("NUMA");
  CHECK(both.severity == Severity::notice);
  CHECK(both.found == "this process may run on 2 of 2 nodes, GPU at node 1");
  CHECK(both.way_out.starts_with("numactl --cpunodebind=1 --membind=1 headrace train"));
  machine.facts().affinity = {0, 1};
  CHECK(machine.finding("NUMA").severity == Severity::warning);
  machine.facts().affinity = {2};
  CHECK(machine.finding("NUMA").severity == Severity::info);
  machine.facts().affinity = {77};
  CHECK_FALSE(machine.finding("NUMA").known);
  machine.remove("sys/devices/system/node");
  CHECK_FALSE(machine.finding("NUMA").known);
}

TEST_CASE("a list of CPUs is read as the kernel writes it, and nothing else") {
  CHECK(numbers_of("0-3,8\n") == std::vector<unsigned>{0, 1, 2, 3, 8});
  CHECK(numbers_of("\n") == std::vector<unsigned>{});
  for (const char* wrong : {"a", "3-1", "1-", "1;2", "0-4000000000"})
    CHECK_FALSE(numbers_of(wrong));
}
