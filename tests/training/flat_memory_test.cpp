// What a training takes, it has taken in its second epoch, and it gives all of it back.
#include <headrace/engine/base/give_way.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/training/memory/tensor_memory.h>

#include "live_tensors.h"
#include "pattern_recipe.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>

using namespace headrace::training;
using headrace::test::live_tensors;
using headrace::test::LiveTensors;

namespace {

// Of the process's heap what is in use: what was freed goes back to the system first.
std::int64_t resident_in_use() {
  ::malloc_trim(0);
  return headrace::test::resident_bytes();
}

constexpr std::int64_t kib = 1024;
constexpr std::int64_t under_way = 16;     // tensors of a save; a leak of one an epoch has 80
constexpr std::int64_t slack = 256 * kib;  // .7 KiB for each of the steps between

// With all that keeps something from step to step: averages, moments, accumulation, a schedule,
// checkpointed blocks, clipping.
std::vector<Stage> long_stage(std::int64_t epochs) {
  return {{.epochs = epochs,
           .batch = 8,
           .evaluation_batch = 7,
           .accumulation = 2,
           .schedule = PlateauOptions{.patience = 3},
           .clip_norm = 1.0,
           .ema = .99,
           .checkpointed = {"body"}}};
}

// One member with evaluations, checkpoints and best weights.
void train(std::int64_t epochs, const TrainerCallbacks& callbacks = {}) {
  const OneThread one_thread;
  const TemporaryFolder folder;
  PatternRecipe recipe(long_stage(epochs));
  recipe.fresh = fresh_network<BlockedModule>;
  MemberOptions options = in(folder);
  options.checkpoint_every = 2;
  options.loaders = {.runtime = headrace::Runtime({.threads = 2})};
  const MemberResult result =
      train_member(recipe, recipe.members().front(), options, {.trainer = callbacks});
  CHECK((result.status == RunStatus::finished));
}

// The thread that saves has the lowest priority, once it runs.
bool is_saving() {
  const auto gives_way = [](id_t thread) {
    return ::getpriority(PRIO_PROCESS, thread) == headrace::lowest_priority;
  };
  constexpr id_t own = 0;
  if (gives_way(own)) return false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    if (gives_way(static_cast<id_t>(std::stoi(task.path().filename())))) return true;
  return false;
}

// The least at the ends of the epochs `first` to `last`: a save may be under way at one of them.
struct Use {
  LiveTensors tensors;
  std::int64_t resident;
  std::int64_t peak;  // of the epoch, by the allocator's counters
};

std::int64_t peak_since_last() {
  const auto peak = static_cast<std::int64_t>(tensor_memory(at::kCPU).peak);
  reset_peak_tensor_memory(at::kCPU);
  return peak;
}

class EpochUse {
 public:
  void see() {
    CHECK(headrace::test::eventually([] { return !is_saving(); }));
    all_.push_back(
        {.tensors = live_tensors(), .resident = resident_in_use(), .peak = peak_since_last()});
  }

  Use least(std::size_t first, std::size_t last) const {
    REQUIRE(last <= all_.size());
    Use found = all_[first];
    for (std::size_t i = first; i < last; ++i) {
      found.tensors.count = std::min(found.tensors.count, all_[i].tensors.count);
      found.tensors.bytes = std::min(found.tensors.bytes, all_[i].tensors.bytes);
      found.resident = std::min(found.resident, all_[i].resident);
      found.peak = std::min(found.peak, all_[i].peak);
    }
    return found;
  }

 private:
  std::vector<Use> all_;
};

// What the last fifth of 100 epochs holds more than the first, from the second epoch on.
struct Growth {
  std::int64_t tensors;
  std::int64_t tensor_bytes;
  std::int64_t resident;
  double peak;  // as a share
};

Growth growth_of_100_epochs(const std::function<void(const StepReport&)>& leak = {}) {
  count_tensor_memory();
  peak_since_last();
  EpochUse use;
  train(100, {.on_step = leak, .on_epoch = [&](const EpochReport&) { use.see(); }});
  const Use early = use.least(1, 20);
  const Use late = use.least(80, 100);
  return {.tensors = late.tensors.count - early.tensors.count,
          .tensor_bytes = late.tensors.bytes - early.tensors.bytes,
          .resident = late.resident - early.resident,
          .peak = static_cast<double>(late.peak) / static_cast<double>(early.peak) - 1.0};
}

// What a process has beside memory pages.
struct Holdings {
  LiveTensors tensors = live_tensors();
  int threads = headrace::test::settled_thread_count();
  int files = headrace::test::open_files();

  bool operator==(const Holdings&) const = default;
};

}  // namespace

TEST_CASE("memory and live tensors are flat from the second of 100 epochs on") {
  const Growth growth = growth_of_100_epochs();
  CHECK(growth.tensors <= under_way);
  CHECK(growth.tensor_bytes <= kib);
  CHECK(growth.peak <= .01);
  if (!headrace::test::sanitized) CHECK(growth.resident < slack);
}

TEST_CASE("a loss that is kept after each step would be found among the tensors") {
  std::vector<at::Tensor> kept;
  const Growth growth = growth_of_100_epochs(
      [&](const StepReport& step) { kept.push_back(at::scalar_tensor(*step.loss)); });
  CHECK(growth.tensors > 250);
  CHECK(growth.peak > .01);
}

TEST_CASE("2 KiB that are kept after each step would be found in memory") {
  std::vector<std::unique_ptr<std::vector<char>>> kept;
  const Growth growth = growth_of_100_epochs([&](const StepReport&) {
    kept.push_back(std::make_unique<std::vector<char>>(2 * kib, 'x'));
  });
  if (!headrace::test::sanitized) CHECK(growth.resident > slack);
}

TEST_CASE("ten trainings in one process give back tensors, threads, files and memory") {
  train(2);
  train(2);
  const Holdings baseline;
  const std::int64_t resident = resident_in_use();
  for (int training = 0; training < 10; ++training) {
    CAPTURE(training);
    train(2);
    CHECK(Holdings() == baseline);
  }
  if (!headrace::test::sanitized) CHECK(resident_in_use() - resident < slack);
}

TEST_CASE("tensors of the tenth training peak where those of the first did") {
  count_tensor_memory();
  train(2);
  std::vector<std::int64_t> peaks;
  for (int training = 0; training < 10; ++training) {
    const auto before = static_cast<std::int64_t>(tensor_memory(at::kCPU).allocated);
    peak_since_last();
    train(2);
    peaks.push_back(peak_since_last() - before);
  }
  REQUIRE(peaks.front() > 0);
  CHECK(static_cast<double>(peaks.back()) <= 1.01 * static_cast<double>(peaks.front()));
  CHECK(static_cast<double>(peaks.back()) >= .99 * static_cast<double>(peaks.front()));
}

TEST_CASE("a tensor, a thread or a file that is left behind is seen") {
  const Holdings baseline;
  CHECK(Holdings() == baseline);
  {
    const at::Tensor tensor = at::zeros({1});
    CHECK(Holdings().tensors.count == baseline.tensors.count + 1);
    CHECK(Holdings().tensors.bytes == baseline.tensors.bytes + 4);
  }
  {
    const std::ifstream file("/proc/self/status");
    CHECK(Holdings().files == baseline.files + 1);
  }
  {
    std::jthread thread([](const std::stop_token& stop) {
      while (!stop.stop_requested())
        std::this_thread::yield();
    });
    CHECK(Holdings().threads == baseline.threads + 1);
  }
  CHECK(Holdings() == baseline);
}
