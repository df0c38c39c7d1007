// What ended or slowed the original's runs does not happen here, and would be seen if it did.
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/tests/apps/retinopathy/pairs_of_grades.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/training/changed_course.h>
#include <headrace/training/memory/tensor_memory.h>

#include "../../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace headrace;
using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

// Whether a pair is trained and evaluated in batches of the rows that its configuration asks for.
bool has_batches_as_asked(const CourseChanges& changes) {
  for (const std::int64_t batch : {2, 3, 6}) {
    const PairsOfGrades pairs(
        3, 8, {"training.batch=" + std::to_string(batch), "training.evaluation_batch=7"});  // of 14
    std::set<std::int64_t> seen;
    CourseChanges watched = changes;
    watched.before_example = [&](const Batch& rows) { seen.insert(rows.size()); };
    train_pair(ChangedRecipe(pairs.recipe(), watched), pairs.first());
    if (seen != std::set<std::int64_t>{batch, 7}) return false;
  }
  return true;
}

std::vector<double> losses_with(const std::vector<std::string>& settings,
                                const CourseChanges& changes) {
  const PairsOfGrades pairs(3, 8, settings);
  std::vector<double> losses;
  train_pair(ChangedRecipe(pairs.recipe(), changes), pairs.first(),
             {.trainer = {.on_step = [&](const training::StepReport& step) {
                losses.push_back(step.loss.value());
              }}});
  return losses;
}

// Whether a setting changes how a pair learns.
bool is_used(const std::string& setting, const CourseChanges& changes = {}) {
  return losses_with({"training.epochs=2", setting}, changes) !=
         losses_with({"training.epochs=2"}, changes);
}

// Of tensors, beside what there was before the first pair. Bytes.
struct Held {
  double peak = 0.0;
  double afterwards = 0.0;
};

std::vector<Held> held_by_pairs(const training::Recipe& recipe) {
  const double before = static_cast<double>(training::tensor_memory(at::kCPU).allocated);
  std::vector<Held> held;
  for (const training::Member& member : recipe.members()) {
    training::reset_peak_tensor_memory(at::kCPU);
    train_pair(recipe, member);
    const training::TensorMemory now = training::tensor_memory(at::kCPU);
    held.push_back({.peak = static_cast<double>(now.peak) - before,
                    .afterwards = static_cast<double>(now.allocated) - before});
  }
  return held;
}

// Whether each pair takes what the first took, and leaves nothing behind, within 1 %.
bool is_flat(const std::vector<Held>& held) {
  const Held& first = held.front();
  return std::ranges::all_of(held, [&](const Held& one) {
    return std::abs(one.peak - first.peak) <= 0.01 * first.peak &&
           std::abs(one.afterwards - first.afterwards) <= 0.01 * first.peak;
  });
}

// The most that there was at once while pairs were fed.
struct Feeding {
  int threads = 0;
  std::size_t loaders = 0;
  std::size_t bytes = 0;

  void see(const std::vector<Runtime>& runtimes) {
    threads = std::max(threads, settled_thread_count());
    std::size_t all = 0;
    std::size_t held = 0;
    for (const Runtime& runtime : runtimes) {
      all += runtime.holdings().size();
      held += runtime.memory_in_use();
    }
    loaders = std::max(loaders, all);
    bytes = std::max(bytes, held);
  }
};

using Feed = std::function<Feeding(const training::Recipe& recipe, std::size_t pairs)>;

Feeding feed_in_turn(const training::Recipe& recipe, std::size_t pairs) {
  const Runtime runtime({.threads = 2, .io_threads = 1});
  Feeding feeding;
  const std::vector<training::Member> members = recipe.members();
  for (std::size_t i = 0; i < pairs; ++i)
    train_pair(recipe, members[i],
               {.trainer = {.on_step = [&](const auto&) { feeding.see({runtime}); }}},
               {.runtime = runtime});
  return feeding;
}

// As the original did: before the first pair three loaders for each, with workers of their own.
Feeding feed_all_at_once(const training::Recipe& recipe, std::size_t pairs) {
  std::vector<Runtime> runtimes;
  std::vector<Loader> loaders;
  const auto add = [&](Pipeline pipeline) {
    runtimes.emplace_back(RuntimeOptions{.threads = 4, .io_threads = 1});
    loaders.push_back(std::move(pipeline).build({.runtime = runtimes.back()}));
    CHECK((loaders.back().next().status == NextBatch::Status::ready));
  };
  const std::vector<training::Member> members = recipe.members();
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto course = recipe.begin(members[i]);
    add(course->train(course->stages().front(), {.batch = 4}));
    add(course->evaluation(training::Split::validation, {.batch = 4}));
    add(course->evaluation(training::Split::test, {.batch = 4}));
  }
  Feeding feeding;
  feeding.see(runtimes);
  return feeding;
}

// What three pairs take more of than one.
std::set<std::string> growth(const training::Recipe& recipe, const Feed& feed) {
  const Feeding one = feed(recipe, 1);
  const Feeding three = feed(recipe, 3);
  constexpr int of_a_save = 1;
  std::set<std::string> growing;
  if (three.threads > one.threads + of_a_save) growing.insert("threads");
  if (three.loaders > one.loaders) growing.insert("loaders");
  if (static_cast<double>(three.bytes) > 1.5 * static_cast<double>(one.bytes))
    growing.insert("bytes");
  return growing;
}

using Rows = std::vector<std::vector<std::int64_t>>;
// The records that each pair is trained on.
using Divide = std::function<Rows(const PairsOfGrades& pairs)>;

Rows divide_by_listing(const PairsOfGrades& pairs) {
  Rows rows;
  for (const training::Member& member : pairs.planned()->members())
    rows.push_back(member.train);
  return rows;
}

// As the original did: reads each sample to see its label.
Rows divide_by_samples(const PairsOfGrades& pairs) {
  const app::RetinopathyConfig& config = *pairs.config();
  const app::TaskRecords records = app::open_records(config.task.data, false, config.seed);
  Loader loader =
      app::evaluation_pipeline(records.train.source,
                               app::task_feed({.config = config}, 3, app::imagenet_statistics()), 4,
                               Device::cpu())
          .build();
  std::vector<std::int64_t> labels;
  for (Batch& batch : loader.epoch(0)) {
    const at::Tensor label = as_tensor(batch["label"]);
    labels.insert(labels.end(), label.data_ptr<std::int64_t>(),
                  label.data_ptr<std::int64_t>() + label.numel());
  }
  Rows rows;
  for (const models::ClassPair& pair : models::class_pairs(3)) {
    rows.emplace_back();
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == pair.first || labels[i] == pair.second)
        rows.back().push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

// Whether pairs can be made of pictures that nobody could decode, as of whole ones.
bool decodes_nothing(const Divide& divide) {
  const PairsOfGrades pairs(3, 8);
  const Rows whole = divide(pairs);
  CHECK(whole == divide_by_listing(pairs));
  for (const auto& file : fs::recursive_directory_iterator(pairs.folder()))
    if (file.is_regular_file()) std::ofstream(file.path(), std::ios::trunc) << "no picture";
  try {
    return divide(pairs) == whole;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

TEST_CASE("a pair's batches are the configuration's, and loaders with rows of their own are seen") {
  CHECK(has_batches_as_asked({}));
  CHECK_FALSE(has_batches_as_asked({.batch = 4}));
  CHECK_FALSE(has_batches_as_asked({.evaluation_batch = 4}));
}

TEST_CASE("what the original read and did not use changes how a pair learns") {
  for (const std::string setting :
       {"training.batch=3", "training.schedule=one-cycle", "training.weight_decay=0.1",
        "loss=[{bce: {gamma: 2}}]", "augment=[{rotate: 90}]"})
    CHECK_MESSAGE(is_used(setting), setting);
  CHECK_FALSE(is_used("training.batch=3", {.batch = 4}));
}

TEST_CASE("tensors are flat over pairs, and networks that are kept behind them are seen") {
  training::count_tensor_memory();
  const PairsOfGrades pairs(3, 12);
  train_pair(pairs.recipe(), pairs.first());  // what LibTorch keeps for good
  CHECK(is_flat(held_by_pairs(pairs.recipe())));
  std::vector<models::NamedTensors> finished;
  const ChangedRecipe keeping(pairs.recipe(), {.made = [&](models::Network& network) {
                                finished.push_back(models::state_of(network));
                              }});
  CHECK_FALSE(is_flat(held_by_pairs(keeping)));
  CHECK(finished.size() == 3);
}

TEST_CASE("threads and loaders do not grow with pairs, and do where all are made at the start") {
  const PairsOfGrades pairs(3, 8, {"training.epochs=2"});
  CHECK(growth(pairs.recipe(), feed_in_turn).empty());
  CHECK(growth(pairs.recipe(), feed_all_at_once) ==
        std::set<std::string>{"bytes", "loaders", "threads"});
}

TEST_CASE("pairs are made without a look at pictures, and a look would be seen") {
  CHECK(decodes_nothing(divide_by_listing));
  CHECK_FALSE(decodes_nothing(divide_by_samples));
}
