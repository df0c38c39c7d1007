#include <headrace/monitor/gpu/gpu_sampler.h>

#include "fake_root.h"
#include "memory_units.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <unistd.h>

using namespace headrace::monitor;
using headrace::test::FakeRoot;
using headrace::test::gib;

namespace {

// Holds a stand-in open, so that what it counted can be asked when a sampler is gone.
class StandIn {
 public:
  explicit StandIn(const char* file) : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE(handle_ != nullptr);
  }
  ~StandIn() { dlclose(handle_); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  int ask(const char* function) const {
    return reinterpret_cast<int (*)()>(dlsym(handle_, function))();
  }

 private:
  void* handle_;
};

bool is_ours(int pid) {
  return pid == getpid();
}

std::vector<unsigned> shown(const std::string& visible) {
  const FakeRoot root;
  root.write("proc/77/environ", std::string("HOME=/root\0", 11) + "CUDA_VISIBLE_DEVICES=" +
                                    visible + std::string("\0TERM=xterm\0", 12));
  GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN, .root = root.path(), .pid = 77});
  std::vector<unsigned> indices;
  for (const GpuSample& gpu : sampler.sample(is_ours))
    indices.push_back(gpu.index);
  CHECK(sampler.why_none().empty() == !indices.empty());
  return indices;
}

}  // namespace

TEST_CASE("a driver of today tells all figures of a GPU, and processes with ours marked") {
  const FakeRoot root;
  root.write("proc/4242/comm", "python\n");
  GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN, .root = root.path()});
  const auto first = sampler.sample(is_ours);
  CHECK(sampler.why_none().empty());
  REQUIRE(first.size() == 2);
  CHECK_FALSE(first[0].sm_active_share);  // nothing to compare with yet
  const GpuSample gpu = sampler.sample(is_ours).at(0);
  CHECK(gpu.index == 0);
  CHECK(gpu.name == "Stand-in A");
  CHECK(gpu.busy_share.value() == doctest::Approx(0.85));
  CHECK(gpu.sm_active_share.value() == doctest::Approx(0.42));
  CHECK(gpu.memory_used.value() == 12 * gib);  // without what the driver keeps for itself
  CHECK(gpu.memory_total.value() == 24 * gib);
  CHECK(gpu.temperature_c.value() == 61.0);
  CHECK(gpu.power_w.value() == doctest::Approx(250.5));
  CHECK(gpu.power_limit_w.value() == doctest::Approx(300.0));
  CHECK(gpu.sm_clock_mhz.value() == 1410.0);
  CHECK(gpu.most_sm_clock_mhz.value() == 1980.0);
  CHECK(gpu.memory_clock_mhz.value() == 5001.0);
  CHECK(gpu.pcie_received_per_s.value() == doctest::Approx(10.0 * 1024 * 1024));
  CHECK(gpu.pcie_sent_per_s.value() == doctest::Approx(5.0 * 1024 * 1024));
  CHECK(gpu.throttled == std::vector<std::string>{"power limit", "temperature"});  // not idleness
  REQUIRE(gpu.processes.size() == 2);  // each once, though it computes and draws
  CHECK(gpu.processes[0].pid == getpid());
  CHECK(gpu.processes[0].ours);
  CHECK(gpu.processes[0].memory == gib);
  CHECK(gpu.processes[1].name == "python");
  CHECK_FALSE(gpu.processes[1].ours);
  CHECK(gpu.processes[1].memory == 0);  // not told
}

TEST_CASE("what a GPU does not tell is absent, and a long list of processes is read whole") {
  GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN});
  const GpuSample gpu = sampler.sample(is_ours).at(1);
  CHECK(gpu.name == "Stand-in B");
  CHECK_FALSE(gpu.busy_share);
  CHECK_FALSE(gpu.sm_active_share);
  CHECK_FALSE(gpu.power_w);
  CHECK(gpu.throttled.empty());
  CHECK(gpu.temperature_c.value() == 61.0);
  CHECK(gpu.processes.size() == 100);
}

TEST_CASE("PCIe is asked rarely where asking takes long, and never where counters tell it") {
  const StandIn library(HEADRACE_NVML_STAND_IN);
  const int before = library.ask("stand_in_throughput_calls");
  GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN, .pcie_every = 3});
  for (int i = 0; i < 6; ++i) {
    const auto gpus = sampler.sample(is_ours);
    CHECK(gpus[1].pcie_received_per_s.has_value() == (i % 3 == 0));
    if (i % 3 == 0) {
      CHECK(gpus[1].pcie_received_per_s.value() == 1e6);
      CHECK(gpus[1].pcie_sent_per_s.value() == 2e6);
    }
  }
  CHECK(library.ask("stand_in_throughput_calls") - before == 2 * 2);
}

TEST_CASE("an old driver's functions serve as well") {
  GpuSampler sampler({.library = HEADRACE_NVML_OLD_STAND_IN});
  sampler.sample(is_ours);
  const GpuSample gpu = sampler.sample(is_ours).at(0);
  CHECK(gpu.busy_share.value() == doctest::Approx(0.85));
  CHECK(gpu.memory_used.value() == 13 * gib);
  CHECK(gpu.power_limit_w.value() == doctest::Approx(350.0));
  CHECK(gpu.throttled == std::vector<std::string>{"hardware slowdown"});
  CHECK_FALSE(gpu.sm_active_share);
  REQUIRE(gpu.processes.size() == 2);
  CHECK(gpu.processes[0].ours);
}

TEST_CASE("all that was taken from the driver is given back") {
  const StandIn library(HEADRACE_NVML_STAND_IN);
  {
    GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN});
    CHECK(library.ask("stand_in_started") == 0);  // not before the first sample
    sampler.sample(is_ours);
    CHECK(library.ask("stand_in_started") == 1);
    CHECK(library.ask("stand_in_counter_samples") == 2);
  }
  CHECK(library.ask("stand_in_started") == 0);
  CHECK(library.ask("stand_in_counter_samples") == 0);
}

TEST_CASE("without a driver, or with one that does not run, a sentence says so") {
  GpuSampler missing({.library = "libheadrace-no-such-driver.so.1"});
  CHECK(missing.sample(is_ours).empty());
  CHECK(missing.why_none() == "libheadrace-no-such-driver.so.1 is not there: no NVIDIA driver");
  GpuSampler stopped({.library = HEADRACE_NVML_STOPPED_STAND_IN});
  CHECK(stopped.sample(is_ours).empty());
  CHECK(stopped.why_none().find("Driver Not Loaded") != std::string::npos);
  GpuSampler unasked({.library = ""});
  CHECK(unasked.sample(is_ours).empty());
  CHECK_FALSE(unasked.why_none().empty());
}

TEST_CASE("CUDA_VISIBLE_DEVICES of the watched process says which GPUs are looked at") {
  using Indices = std::vector<unsigned>;
  CHECK(shown("1") == Indices{1});
  CHECK(shown("1,0") == Indices{0, 1});
  CHECK(shown(" 0 , 1") == Indices{0, 1});
  CHECK(shown("GPU-bbbb") == Indices{1});
  CHECK(shown("0,7,1") == Indices{0});  // CUDA stops at the first that is none
  CHECK(shown("") == Indices{});
  CHECK(shown("-1") == Indices{});
  CHECK(shown("MIG-1234") == Indices{0, 1});  // a part of a GPU: which one, is not told
}

TEST_CASE("a figure that cannot be is one that was not told") {
  const StandIn library(HEADRACE_NVML_STAND_IN);
  GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN});
  sampler.sample(is_ours);
  REQUIRE(library.ask("stand_in_turns_to_nonsense") == 1);
  GpuSample gpu = sampler.sample(is_ours).at(0);
  CHECK(library.ask("stand_in_turns_to_nonsense") == 0);
  CHECK_FALSE(gpu.busy_share);
  CHECK_FALSE(gpu.sm_active_share);
  CHECK_FALSE(gpu.pcie_received_per_s);
  CHECK_FALSE(gpu.pcie_sent_per_s);
  gpu = sampler.sample(is_ours).at(0);
  CHECK(gpu.busy_share.value() == doctest::Approx(0.85));
  CHECK(gpu.sm_active_share.value() == doctest::Approx(0.42));
}

TEST_CASE("the name of a process on a GPU is one line") {
  const FakeRoot root;
  root.write("proc/4242/comm", "py\nthon\n");
  GpuSampler sampler({.library = HEADRACE_NVML_STAND_IN, .root = root.path()});
  CHECK(sampler.sample(is_ours).at(0).processes.at(1).name == "py\\x0athon");
}
