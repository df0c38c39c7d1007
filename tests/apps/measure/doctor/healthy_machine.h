#pragma once

#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/tests/monitor/fake_root.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace headrace::test {

/// A machine as it should be: what stands in its proc and sys, and what was asked of it. A test
/// makes one thing of it worse.
class HealthyMachine {
 public:
  app::EnvironmentOptions options{};

  HealthyMachine() {
    options.root = root_.path();
    options.torch_version = "2.11.0";
    options.torch_cuda = "12.8";
    app::EnvironmentFacts facts{.device_runtime = "libcudart.so.12 (the system's)",
                                .affinity = {0, 1, 2, 3}};
    facts.others = app::OtherLoad{.cores = 0.1, .machine_cores = 4};
    facts.shared_memory = app::FolderSpace{8ULL << 30, 8ULL << 30};
    options.facts = facts;
    write_proc();
    write_sys();
  }

  void write(std::string_view file, std::string_view text) const { root_.write(file, text); }
  void remove(std::string_view file) const { std::filesystem::remove_all(root_.path() / file); }
  app::EnvironmentFacts& facts() { return *options.facts; }

  /// What is said of one thing; nothing said is a failure of the test.
  app::Finding finding(std::string_view what) const {
    const app::Findings findings = app::check_environment(options);
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const app::Finding& f) { return f.what == what; });
    if (found == findings.end()) return {.what = "nothing is said of " + std::string(what)};
    return *found;
  }

 private:
  void write_proc() const {
    write("proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC\n"
          "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
    write("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: NVIDIA L4\n");
    write("proc/self/limits",
          "Max locked memory 8388608 8388608 bytes\n"
          "Max open files 65535 1048576 files\n");
    write("proc/self/fd/0", "");
    write("proc/self/cgroup", "0::/job\n");
    write("proc/meminfo",
          "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"
          "SwapTotal: 2097152 kB\nSwapFree: 2097152 kB\n"
          "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n");
    write("proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme sse2 avx2\n");
    write("proc/self/mountinfo",
          "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
          "21 20 0:40 / /mnt/share rw - nfs4 server:/export rw\n"
          "22 20 0:41 / /mnt/keys rw - fuse.sshfs user@host:/ rw\n"
          "23 20 0:42 / /ram rw - tmpfs tmpfs rw\n"
          "24 20 0:43 / /with\\040blank rw - cifs //server/share rw\n"
          "25 20 0:44 / /layer rw - overlay overlay rw\n"
          "26 20 0:45 / /odd rw - oddfs none rw\n");
  }

  void write_sys() const {
    write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
    write("sys/fs/cgroup/job/memory.max", "max\n");
    write("sys/bus/pci/devices/0000:3b:00.0/numa_node", "0\n");
    write("sys/devices/system/node/node0/cpulist", "0-3\n");
    for (const char* cpu : {"cpu0", "cpu1", "cpu2", "cpu3"})
      write(std::string("sys/devices/system/cpu/") + cpu + "/cpufreq/scaling_governor",
            "performance\n");
  }

  FakeRoot root_;
};

}  // namespace headrace::test
