#include <headrace/engine/base/literals.h>

#include "healthy_machine.h"

#include <doctest/doctest.h>

using namespace headrace::app;
using namespace headrace::literals;
using headrace::monitor::Severity;
using headrace::test::HealthyMachine;

TEST_CASE("the usual limit of open files is too low, with the command that raises it") {
  HealthyMachine machine;
  machine.write("proc/self/limits",
                "Max open files 1024 1048576 files\nMax locked memory 1 1 bytes\n");
  const Finding few = machine.finding("open files");
  CHECK(few.severity == Severity::warning);
  CHECK(few.found == "at most 1024 (hard limit 1048576), 1 are open");
  CHECK(few.way_out == "ulimit -n 65535");
  CHECK(HealthyMachine().finding("open files").severity == Severity::info);
}

TEST_CASE("what the loader needs decides, and a hard limit below it is an error") {
  HealthyMachine machine;
  machine.options.needs.open_files = 65534;
  CHECK(machine.finding("open files").severity == Severity::info);  // one is open
  machine.options.needs.open_files = 65535;
  CHECK(machine.finding("open files").severity == Severity::warning);
  CHECK(machine.finding("open files").way_out == "ulimit -n 65536");
  machine.write("proc/self/limits",
                "Max open files 1024 4096 files\nMax locked memory 1 1 bytes\n");
  machine.options.needs.open_files = 2000;
  CHECK(machine.finding("open files").way_out == "ulimit -n 4096");
  machine.options.needs.open_files = 9000;
  const Finding hard = machine.finding("open files");
  CHECK(hard.severity == Severity::error);
  CHECK(hard.way_out.starts_with("as root: prlimit --pid $$ --nofile=65535:65535"));
}

TEST_CASE("locked memory below the slabs is a notice, which no driver of NVIDIA minds") {
  HealthyMachine machine;
  CHECK(machine.finding("locked memory").severity == Severity::info);
  machine.options.needs.locked_bytes = 8ULL << 20;
  CHECK(machine.finding("locked memory").severity == Severity::info);
  machine.options.needs.locked_bytes = (8ULL << 20) + 1;
  CHECK(machine.finding("locked memory").severity == Severity::notice);
  machine.remove("proc/self/limits");
  CHECK_FALSE(machine.finding("locked memory").known);
  CHECK_FALSE(machine.finding("open files").known);
}

TEST_CASE("huge pages switched off are a notice, those set aside and unused a warning") {
  const HealthyMachine machine;
  const char* file = "sys/kernel/mm/transparent_hugepage/enabled";
  machine.write(file, "[always] madvise never\n");
  CHECK(machine.finding("transparent huge pages").severity == Severity::info);
  machine.write(file, "always madvise [never]\n");
  CHECK(machine.finding("transparent huge pages").severity == Severity::notice);
  machine.write(file, "\n");
  CHECK_FALSE(machine.finding("transparent huge pages").known);
  machine.write("proc/meminfo",
                "MemTotal: 2048000 kB\nHugePages_Free: 50\nHugepagesize: 2048 kB\n");
  CHECK(machine.finding("huge pages set aside").severity == Severity::info);  // 5 %
  machine.write("proc/meminfo",
                "MemTotal: 2048000 kB\nHugePages_Free: 51\nHugepagesize: 2048 kB\n");
  CHECK(machine.finding("huge pages set aside").severity == Severity::warning);
  machine.write("proc/meminfo", "MemTotal: 2048000 kB\n");
  CHECK_FALSE(machine.finding("huge pages set aside").known);
}

TEST_CASE("a memory limit above the cgroup's is a warning, in v2 and in v1") {
  HealthyMachine machine;
  SUBCASE("v2") {
    machine.write("sys/fs/cgroup/job/memory.max", std::to_string(4_GiB) + "\n");
  }
  SUBCASE("v1") {
    machine.write("proc/self/cgroup", "3:memory:/job\n");
    machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(4_GiB) + "\n");
  }
  CHECK(machine.finding("memory limit").found == "4.00 GiB (cgroup)");
  machine.options.needs.memory_limit = 4_GiB;
  CHECK(machine.finding("memory limit").severity == Severity::info);
  machine.options.needs.memory_limit = 4_GiB + 1;
  const Finding above = machine.finding("memory limit");
  CHECK(above.severity == Severity::warning);
  CHECK(above.way_out.find("at most 4.00 GiB") != std::string::npos);
}

TEST_CASE("without a cgroup's limit the machine's memory is the limit") {
  HealthyMachine machine;
  CHECK(machine.finding("memory limit").found == "16.0 GiB (the machine's memory)");
  machine.options.needs.memory_limit = 17_GiB;
  CHECK(machine.finding("memory limit").severity == Severity::warning);
  machine.remove("proc/self/cgroup");
  CHECK_FALSE(machine.finding("memory limit").known);
}

TEST_CASE("swap in use beyond a twentieth of the memory is a warning") {
  const HealthyMachine machine;
  machine.write("proc/meminfo", "MemTotal: 100000 kB\nSwapTotal: 50000 kB\nSwapFree: 45000 kB\n");
  CHECK(machine.finding("swap").severity == Severity::info);
  machine.write("proc/meminfo", "MemTotal: 100000 kB\nSwapTotal: 50000 kB\nSwapFree: 44999 kB\n");
  CHECK(machine.finding("swap").severity == Severity::warning);
  machine.write("proc/meminfo", "MemTotal: 100000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
  CHECK(machine.finding("swap").found == "none");
  machine.write("proc/meminfo", "MemTotal: 100000 kB\n");
  CHECK_FALSE(machine.finding("swap").known);
}

TEST_CASE("what lies in /dev/shm counts as memory") {
  HealthyMachine machine;
  machine.facts().shared_memory = FolderSpace{8_GiB, 8_GiB - 1_GiB / 2};
  CHECK(machine.finding("/dev/shm").severity == Severity::info);
  machine.facts().shared_memory = FolderSpace{8_GiB, 7_GiB};
  CHECK(machine.finding("/dev/shm").severity == Severity::warning);
  machine.facts().shared_memory.reset();
  CHECK_FALSE(machine.finding("/dev/shm").known);
}
