#include <headrace/monitor/memory/memory_judge.h>

#include "memory_units.h"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::monitor;
using headrace::test::gib;
using headrace::test::mib;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

PhaseMemory on_cpu(std::uint64_t tensors, std::uint64_t anonymous) {
  return {.allocated = tensors,
          .peak = tensors + gib,
          .reserved = tensors,
          .peak_reserved = tensors + gib,
          .process = {.anonymous = anonymous}};
}

PhaseMemory on_gpu(std::uint64_t peak, std::uint64_t peak_reserved) {
  return {.allocated = gib,
          .peak = peak,
          .reserved = peak_reserved,
          .peak_reserved = peak_reserved,
          .on_gpu = true,
          .process = {.anonymous = 2 * gib}};
}

// What is said after each of so many epochs whose memory `of(epoch)` is, in one list.
template <class Of>
std::vector<MemoryRemark> said_over(int epochs, const MemoryLimits& limits, const Of& of) {
  MemoryJudge judge;
  std::vector<MemoryRemark> all;
  for (int epoch = 1; epoch <= epochs; ++epoch)
    for (const MemoryRemark& remark : judge.after_training(epoch, 100, of(epoch), limits))
      all.push_back(remark);
  return all;
}

std::uint64_t grown(int epoch, std::uint64_t by) {
  return static_cast<std::uint64_t>(epoch) * by;
}

}  // namespace

TEST_CASE("a phase is said in a sentence, with what a GPU alone has only where there is one") {
  PhaseMemory memory = on_cpu(512 * mib, 2 * gib);
  CHECK(memory.sentence() == "tensors 512 MiB, peak 1.50 GiB; process 2.00 GiB");
  CHECK(memory.beside_tensors() == 2 * gib - 512 * mib);
  CHECK(memory.process_peak() == 3 * gib);
  memory.on_gpu = true;
  memory.inactive_split = 3 * mib;
  memory.retries = 2;
  CHECK(memory.sentence() ==
        "tensors 512 MiB, peak 1.50 GiB, reserved 512 MiB, in pieces 3.00 MiB, retries 2; process "
        "2.00 GiB");
  CHECK(memory.beside_tensors() == 2 * gib);
  CHECK(memory.process_peak() == 2 * gib);
}

TEST_CASE("tensors that grow are named with the epoch in which the limit is reached, once") {
  // 1.5 GiB at the first peak, 64 MiB more each epoch: at most 2.8125 GiB after the fifth.
  const auto said = said_over(7, {.process = 4 * gib}, [](int epoch) {
    return on_cpu(512 * mib + grown(epoch, 64 * mib), 2 * gib + grown(epoch, 64 * mib));
  });
  REQUIRE(said.size() == 1);
  CHECK(said.front().rule == "tensors-grow");
  CHECK(
      contains(said.front().sentence,
               "memory grows: tensors +64.0 MiB an epoch over epochs 2-5 (640 MiB to 832 MiB): "));
  // Beside tensors there are 1.5 GiB: 3.3125 at the peak of epoch 5, 704 MiB below the limit.
  CHECK(contains(said.front().sentence, "the limit of 4.00 GiB is reached in epoch 16"));
}

TEST_CASE("growth is said again where it is twice what it was") {
  const auto of = [](int epoch) {
    return on_cpu(512 * mib + grown(epoch, 64 * mib), 2 * gib + grown(epoch, 64 * mib));
  };
  // Three epochs of growth, and six.
  CHECK(said_over(7, {}, of).size() == 1);
  const auto said = said_over(8, {}, of);
  CHECK(said.size() == 2);
  CHECK_FALSE(contains(said.back().sentence, "limit"));
}

TEST_CASE(
    "a GPU's tensors are held against the GPU, and a limit beyond the last epoch is no alarm") {
  const auto of = [](int epoch) {
    PhaseMemory memory = on_gpu(8 * gib + grown(epoch, 32 * mib), 12 * gib);
    memory.allocated += grown(epoch, 32 * mib);
    return memory;
  };
  const auto said = said_over(5, {.process = 4 * gib, .gpu = 14 * gib}, of);
  REQUIRE(said.size() == 1);
  CHECK(contains(said.front().sentence, "the limit of 14.0 GiB is not reached in 100 epochs"));
}

TEST_CASE("a process that grows beside its tensors is named with whose part grew") {
  const auto heap =
      said_over(5, {}, [](int epoch) { return on_cpu(gib, 2 * gib + grown(epoch, 64 * mib)); });
  REQUIRE(heap.size() == 1);
  CHECK(heap.front().rule == "process-grows");
  CHECK(
      contains(heap.front().sentence,
               "process +64.0 MiB an epoch over epochs 2-5 (1.12 GiB to 1.31 GiB) beside tensors: "
               "most of it is held by the heap (caches, operations, libraries), 1.12 GiB to "
               "1.31 GiB"));
  const auto loaders = said_over(5, {}, [](int epoch) {
    PhaseMemory memory = on_cpu(gib, 2 * gib + grown(epoch, 64 * mib));
    memory.in_loaders = grown(epoch, 60 * mib);
    return memory;
  });
  REQUIRE(loaders.size() == 1);
  CHECK(contains(loaders.front().sentence,
                 "held by batches and samples of the loader, 120 MiB to 300 MiB"));
}

TEST_CASE("memory that stays as it is gives no remark") {
  CHECK(said_over(50, {.process = 4 * gib, .gpu = 14 * gib}, [](int) {
          return on_cpu(gib, 2 * gib);
        }).empty());
  CHECK(said_over(50, {.process = 4 * gib, .gpu = 14 * gib}, [](int) {
          return on_gpu(10 * gib, 12 * gib);
        }).empty());
}

TEST_CASE("a GPU's memory is in pieces where room was missing with a quarter of it unused") {
  PhaseMemory memory = on_gpu(9 * gib, 12 * gib);
  memory.retries = 3;
  CHECK_FALSE(fragmented(memory).has_value());  // a quarter, and no more
  memory.peak -= mib;
  const auto remark = fragmented(memory);
  REQUIRE(remark.has_value());
  CHECK(contains(remark->sentence, "12.0 GiB reserved for 9.00 GiB in tensors"));
  CHECK(contains(remark->sentence, "3 times"));
  CHECK(contains(remark->sentence, "expandable_segments:True"));
  memory.retries = 0;
  CHECK_FALSE(fragmented(memory).has_value());
}

TEST_CASE("so it is where a quarter of it lies in pieces") {
  PhaseMemory memory = on_gpu(12 * gib, 12 * gib);
  memory.retries = 1;
  memory.inactive_split = 3 * gib;
  CHECK_FALSE(fragmented(memory).has_value());
  ++memory.inactive_split;
  CHECK(fragmented(memory).has_value());
  memory.on_gpu = false;
  CHECK_FALSE(fragmented(memory).has_value());
}

TEST_CASE("pieces are said again where twice as often room was missing") {
  MemoryJudge judge;
  PhaseMemory memory = on_gpu(4 * gib, 12 * gib);
  memory.retries = 3;
  CHECK(judge.after(memory, {}).size() == 1);
  memory.retries = 5;
  CHECK(judge.after(memory, {}).empty());
  memory.retries = 6;
  CHECK(judge.after(memory, {}).size() == 1);
}

TEST_CASE("a GPU is nearly full above nine tenths of it") {
  const MemoryLimits limits{.gpu = 10 * gib};
  CHECK_FALSE(nearly_full(on_gpu(9 * gib, 10 * gib), limits).has_value());
  CHECK_FALSE(nearly_full(on_gpu(9 * gib + mib, 10 * gib), {}).has_value());
  CHECK_FALSE(nearly_full(on_cpu(9 * gib, 20 * gib), limits).has_value());
  const auto remark = nearly_full(on_gpu(9 * gib + 256 * mib, 10 * gib), limits);
  REQUIRE(remark.has_value());
  CHECK(contains(remark->sentence, "tensors took 9.25 GiB of the GPU's 10.0 GiB (92 %)"));
  CHECK(contains(remark->sentence, "768 MiB are left"));
  MemoryJudge judge;
  CHECK(judge.after(on_gpu(9 * gib + 256 * mib, 10 * gib), limits).size() == 1);
  CHECK(judge.after(on_gpu(9 * gib + 512 * mib, 10 * gib), limits).empty());
  CHECK(judge.after(on_gpu(9 * gib + 640 * mib, 10 * gib), limits).size() == 1);
}
