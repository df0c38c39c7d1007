#include <headrace/engine/base/error.h>
#include <headrace/tests/support/forked_child.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/checkpoint_writer.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>

#include "../support/torch_doctest.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include <ATen/Functions.h>

#include <sys/resource.h>

using headrace::test::TemporaryFolder;

using namespace headrace::training;

namespace {

namespace fs = std::filesystem;

void take(CheckpointWriter& writer, const TensorMap& weights, std::int64_t step) {
  update_snapshot(writer.state().weights, weights);
  writer.state().progress.step = step;
}

bool is(const SaveOutcome& outcome, const char* kind) {
  try {
    if (outcome.error) std::rethrow_exception(outcome.error);
  } catch (const CheckpointError&) {
    return std::string("checkpoint") == kind;
  } catch (const NumericError&) {
    return std::string("numeric") == kind;
  }
  return std::string("none") == kind;
}

constexpr int lowest_priority = 19;

bool a_thread_gives_way() {
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    const id_t thread = static_cast<id_t>(std::stoi(entry.path().filename().string()));
    if (::getpriority(PRIO_PROCESS, thread) == lowest_priority) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("what was taken is saved, whatever becomes of the originals") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CheckpointWriter writer(store);
  CHECK_FALSE(writer.outcome(true).has_value());
  const at::Tensor weight = at::full({1000, 100}, 1.0);
  take(writer, {{"w", weight}}, 3);
  writer.begin();
  CHECK(writer.busy());
  weight.fill_(2.0);
  const SaveOutcome outcome = *writer.outcome(true);
  CHECK(is(outcome, "none"));
  CHECK(outcome.progress.step == 3);
  CHECK_FALSE(writer.busy());
  CHECK_FALSE(writer.outcome(true).has_value());
  const Checkpoint saved = read_checkpoint(outcome.saved.path);
  CHECK(saved.progress.step == 3);
  CHECK(at::equal(saved.weights.at("w"), at::full({1000, 100}, 1.0)));
}

TEST_CASE("the writing thread gives way to the steps, but where it is waited for") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CheckpointWriter writer(store);
  take(writer, {{"w", at::ones({1 << 22})}}, 1);
  const int before = ::getpriority(PRIO_PROCESS, 0);
  if (before == lowest_priority) {
    MESSAGE("skipped: not to be seen in a process of that priority");
    return;
  }
  const auto seen_to_give_way = [&](SavePriority priority) {
    bool gave_way = false;
    while (a_thread_gives_way())  // one that ended may still be listed
      std::this_thread::yield();
    writer.begin({}, at::kCPU, priority);
    while (!gave_way && !writer.outcome(false))
      gave_way = a_thread_gives_way();
    writer.outcome(true);
    return gave_way;
  };
  bool once = false;
  for (int save = 0; save < 50 && !once; ++save)
    once = seen_to_give_way(SavePriority::behind_steps);
  CHECK(once);
  CHECK(::getpriority(PRIO_PROCESS, 0) == before);
  CHECK_FALSE(seen_to_give_way(SavePriority::as_caller));
}

TEST_CASE("a forked process neither waits for a save under way nor takes its outcome" *
          doctest::skip(headrace::test::cannot_fork)) {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  auto writer = std::make_unique<CheckpointWriter>(store);
  take(*writer, {{"w", at::ones({1 << 22})}}, 1);
  writer->begin();
  const std::string said = headrace::test::in_a_child([&] {
    std::string told = "no error";
    try {
      writer->outcome(true);
    } catch (const headrace::PipelineError& error) {
      told = error.what();
    }
    writer.reset();
    return told;
  });
  CHECK(said.find("[checkpoints] the save under way is that of the process") == 0);
  CHECK(is(*writer->outcome(true), "none"));
}

TEST_CASE("the memory of a snapshot is used again, and follows names and shapes") {
  TensorMap copies;
  update_snapshot(copies, {{"a", at::zeros({8})}, {"b", at::zeros({2, 2})}});
  const void* before = copies.at("a").const_data_ptr();
  update_snapshot(copies, {{"a", at::ones({8})}, {"b", at::ones({3})}});
  CHECK(copies.at("a").const_data_ptr() == before);
  CHECK(at::equal(copies.at("a"), at::ones({8})));
  CHECK(at::equal(copies.at("b"), at::ones({3})));
  update_snapshot(copies, TensorMap{{"b", at::ones({3}, at::kLong)}});
  CHECK(copies.size() == 1);
  CHECK((copies.at("b").scalar_type() == at::kLong));
}

TEST_CASE("channels-last weights are saved in the order of the format") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CheckpointWriter writer(store);
  const at::Tensor weight = at::rand({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  take(writer, {{"w", weight}}, 1);
  writer.begin();
  CHECK(at::equal(read_checkpoint(writer.outcome(true)->saved.path).weights.at("w"), weight));
}

TEST_CASE("the best weights are those of the state, and are written before it") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CheckpointWriter writer(store);
  take(writer, {{"w", at::ones({4})}}, 1);
  writer.begin(BestWeights{.epoch = 5, .selected_by = "accuracy"});
  CHECK(is(*writer.outcome(true), "none"));
  const BestWeights best = read_best_weights(store.best_path());
  CHECK(best.epoch == 5);
  CHECK(at::equal(best.weights.at("w"), at::ones({4})));
}

TEST_CASE("best weights that could not be written come back and stay as they were") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  CheckpointWriter writer(store);
  fs::remove(store.folder());
  take(writer, {{"w", at::ones({4})}}, 1);
  writer.begin(BestWeights{.epoch = 5, .selected_by = "accuracy"});
  SaveOutcome failed = *writer.outcome(true);
  CHECK(is(failed, "checkpoint"));
  CHECK(failed.saved.path.empty());
  REQUIRE(failed.unsaved_best.has_value());

  fs::create_directory(store.folder());
  take(writer, {{"w", at::zeros({4})}}, 2);
  writer.begin(std::move(failed.unsaved_best));
  CHECK(is(*writer.outcome(true), "none"));
  CHECK(at::equal(read_best_weights(store.best_path()).weights.at("w"), at::ones({4})));
  CHECK(at::equal(store.load_latest()->weights.at("w"), at::zeros({4})));
}

TEST_CASE("a weight that is not finite is found in any dtype, and nothing is written") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CheckpointWriter writer(store);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16})
    for (const double value :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()}) {
      const at::Tensor weight = at::full({5000}, 65504.0, type);
      CHECK_FALSE(first_not_finite({{"w", weight}}).has_value());
      weight[4999] = value;
      CHECK(first_not_finite({{"w", weight}}).has_value());
      take(writer, {{"w", weight}}, 4);
      writer.begin(BestWeights{});
      CHECK(is(*writer.outcome(true), "numeric"));
    }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a writer that dies has first finished what it began") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  {
    CheckpointWriter writer(store);
    take(writer, {{"w", at::ones({1 << 20})}}, 7);
    writer.begin();
  }
  CHECK(store.load_latest()->progress.step == 7);
}

TEST_CASE(
    "the best weights are the averaged ones where there are any, and stay so if not written") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  CheckpointWriter writer(store);
  fs::remove(store.folder());
  take(writer, {{"w", at::ones({4})}}, 1);
  update_snapshot(writer.state().ema, TensorMap{{"w", at::full({4}, 3.0F)}});
  writer.begin(BestWeights{.epoch = 5});
  SaveOutcome failed = *writer.outcome(true);
  REQUIRE(failed.unsaved_best.has_value());
  fs::create_directory(store.folder());
  update_snapshot(writer.state().ema, TensorMap{{"w", at::full({4}, 8.0F)}});
  writer.begin(std::move(failed.unsaved_best));
  CHECK(is(*writer.outcome(true), "none"));
  CHECK(at::equal(read_best_weights(store.best_path()).weights.at("w"), at::full({4}, 3.0F)));
}

TEST_CASE("an averaged weight that is not finite is named as one, and nothing is written") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CheckpointWriter writer(store);
  take(writer, {{"w", at::ones({4})}}, 4);
  update_snapshot(writer.state().ema,
                  TensorMap{{"w", at::full({4}, std::numeric_limits<float>::infinity())}});
  writer.begin();
  const SaveOutcome outcome = *writer.outcome(true);
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcome.error),
                       "[trainer] step 4: all averaged weights must be finite to be saved, \"w\" "
                       "holds values that are not; the checkpoint before stays",
                       NumericError);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a writer whose last save fails dies in silence") {
  const TemporaryFolder folder;
  CheckpointStore store(folder.path() / "checkpoints");
  fs::remove(store.folder());
  CheckpointWriter writer(store);
  take(writer, {{"w", at::ones({1 << 20})}}, 7);
  writer.begin();
}
