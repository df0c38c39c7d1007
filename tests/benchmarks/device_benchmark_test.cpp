// The device benchmark against the stand-in for the CUDA runtime and kernels for the host: its
// calls come in an order that CUDA takes, on the right streams, and all it made is given back. Its
// figures say nothing here.
#include <headrace/benchmarks/device/sections.h>
#include <headrace/tests/transfer/cuda_stand_in.h>

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using namespace bench;

BareCalls stand_in_calls() {
  return {.copy =
              [](void* to, const void* from, std::size_t bytes, Way way, Stream on) {
                if (way == Way::to_device) {
                  const detail::DeviceScope scope(Device::cuda(0));
                  detail::copy_to_device(static_cast<std::byte*>(to),
                                         static_cast<const std::byte*>(from), bytes, on);
                  return;
                }
                device::run_on(on, [=] { std::memcpy(to, from, bytes); });
              },
          .delay =
              [](double seconds, Stream on) {
                device::run_on(on, [=] {
                  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                });
              }};
}

/// The rows of a section, run on the stand-in with batches of a few hundred KB.
std::vector<Row> rows_of(void (*measure)(const Bench&)) {
  const auto before = device::calls();
  device::reset({.copy_delay_us = 50});
  std::vector<Row> rows;
  {
    Side side(Device::cuda(0), stand_in_calls());
    const Extent extent{.sizes = {200'000, 400'000}, .repeats = 2, .traffic = 0, .threads = 2};
    Report report("device_benchmark", std::filesystem::path());
    measure({side, extent, report});
    rows = report.rows();
  }
  CHECK(device::calls().torn_copies == 0);
  CHECK(device::calls().in_callbacks == 0);
  CHECK(device::calls().page_locks == 0);
  CHECK(device::calls().live_allocations == before.live_allocations);
  CHECK(device::calls().live_streams == before.live_streams);
  CHECK(device::calls().live_events == before.live_events);
  return rows;
}

std::set<std::string> sections_of(const std::vector<Row>& rows) {
  std::set<std::string> sections;
  for (const Row& row : rows)
    sections.insert(row.section);
  return sections;
}

/// Goals that count: those of the largest batch.
int goals_in(const std::vector<Row>& rows) {
  int goals = 0;
  for (const Row& row : rows) {
    CHECK(row.missing.empty());
    CHECK(row.repeats == 2);
    if (row.unit != "share") CHECK(row.median > 0);
    goals += row.goal ? 1 : 0;
  }
  return goals;
}

TEST_CASE("Bare copies are timed in every direction") {
  const auto rows = rows_of(measure_ceilings);
  CHECK(rows.size() == 10);
  CHECK(goals_in(rows) == 0);
}

TEST_CASE("The transfer stage is held against bare copies, back to back and behind a step") {
  const auto rows = rows_of(measure_transfer);
  CHECK(sections_of(rows).size() == 6);
  // At each size two rates, and the time that is not the step's.
  CHECK(goals_in(rows) == 6);
  CHECK(rows.back().note == "slabs are page-locked");
}

TEST_CASE("Normalize is held against copies in every precision, layout and width") {
  const auto rows = rows_of(measure_normalize);
  CHECK(sections_of(rows).size() == 12);
  CHECK(goals_in(rows) == 12);
}

TEST_CASE("SpecAugment is held against copies in place and through a warp") {
  const auto rows = rows_of(measure_spec_augment);
  CHECK(goals_in(rows) == 4);
}

TEST_CASE("Gathered rows are held against copies, and a device table against its kernel") {
  const auto rows = rows_of(measure_gather);
  CHECK(rows.size() == 20);
  CHECK(goals_in(rows) == 4);
}

}  // namespace
}  // namespace headrace::test
