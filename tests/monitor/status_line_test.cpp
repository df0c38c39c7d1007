#include <headrace/monitor/system/status_line.h>

#include "memory_units.h"

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::gib;

namespace {

SystemSample machine() {
  SystemSample sample{.machine_share = 0.452};
  sample.host = {.total = 64 * gib, .available = 64 * gib - 18 * gib - gib * 4 / 10};
  return sample;
}

SystemSample with_gpus(int count) {
  SystemSample sample = machine();
  for (int i = 0; i < count; ++i)
    sample.gpus.push_back({.busy_share = 0.80 + 0.1 * (i % 2),
                           .memory_used = 12 * gib + gib * 3 / 10,
                           .memory_total = 24 * gib});
  return sample;
}

}  // namespace

TEST_CASE("the status line says GPU, its memory, CPU and memory, in the units it names") {
  SystemSample sample = with_gpus(1);
  CHECK(status_line(sample) ==
        "GPU: 80 % | VRAM: 12.3/24.0 GiB (51 %) | CPU: 45 % | RAM: 18.4/64.0 GiB");
  CHECK(status_line(with_gpus(8)) ==
        "GPU: 85 % x8 | VRAM: 98.4/192.0 GiB (51 %) | CPU: 45 % | RAM: 18.4/64.0 GiB");
}

TEST_CASE("without a GPU the line says so, and under a cgroup's limit memory is the cgroup's") {
  SystemSample sample = machine();
  CHECK(status_line(sample) == "GPU: n/a | CPU: 45 % | RAM: 18.4/64.0 GiB");
  sample.host.cgroup_limit = 10 * gib;
  sample.host.cgroup_usage = 5 * gib;
  CHECK(status_line(sample) == "GPU: n/a | CPU: 45 % | RAM: 5.0/10.0 GiB");
  CHECK(status_line(SystemSample{}) == "GPU: n/a | CPU: 0 %");
}

TEST_CASE("a narrow terminal gets a shorter line that never passes its width") {
  const SystemSample sample = with_gpus(1);
  CHECK(status_line(sample, 80) == status_line(sample));
  CHECK(status_line(sample, 60) == "GPU 80 % 12.3/24.0G CPU 45 % RAM 18.4/64.0G");
  CHECK(status_line(sample, 30) == "GPU 80 % 12.3/24.0G CPU 45 %");
  for (std::size_t columns = 0; columns < 90; ++columns)
    CHECK(status_line(sample, columns).size() <= columns);
}
