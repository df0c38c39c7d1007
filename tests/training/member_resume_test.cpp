#include "pattern_recipe.h"

using namespace headrace::training;

namespace {

// Windows of three micro-batches in both stages: the last of an epoch is shorter.
std::vector<Stage> accumulating_stages() {
  std::vector<Stage> stages = two_stages();
  stages[0].accumulation = 3;
  stages[1].accumulation = 3;
  return stages;
}

constexpr std::int64_t steps_of_first = 2 * 3;   // 7 batches an epoch
constexpr std::int64_t steps_of_second = 2 * 2;  // 4 batches an epoch

struct Killed {};

// Goes on as another process would: other batches ready ahead, other threads.
void finish(const PatternRecipe& recipe, const MemberOptions& options) {
  MemberOptions other = options;
  other.loaders = {.prefetch = 1, .runtime = headrace::Runtime({.threads = 3})};
  at::manual_seed(98);
  CHECK((train_member(recipe, recipe.members().front(), other).status == RunStatus::finished));
}

void check_same(const std::filesystem::path& whole, const std::filesystem::path& resumed) {
  CheckpointStore a(whole);
  CheckpointStore b(resumed);
  CHECK(bytes_of(a.list().front()) == bytes_of(b.list().front()));
  CHECK(bytes_of(a.best_path()) == bytes_of(b.best_path()));
  CHECK(bytes_of(whole / "test-scores.safetensors") ==
        bytes_of(resumed / "test-scores.safetensors"));
}

std::vector<Stage> stages_that_go_on() {
  std::vector<Stage> stages = accumulating_stages();
  stages[1].start = StartFrom::last;
  stages[1].keep_moments = true;
  return stages;
}

// What Adam counts of a parameter behind all stages.
float steps_of(const PatternRecipe& recipe, const std::string& parameter) {
  const TemporaryFolder folder;
  train_member(recipe, recipe.members().front(), in(folder));
  return CheckpointStore(in(folder).folder)
      .load_latest()
      .value()
      .optimizer.at(parameter + ".step")
      .item<float>();
}

}  // namespace

TEST_CASE("a member stopped after any step of any stage ends with the same files") {
  const OneThread one_thread;
  const PatternRecipe recipe(accumulating_stages());
  const Member member = recipe.members().front();
  const TemporaryFolder whole;
  std::int64_t all = 0;
  train_member(recipe, member, in(whole),
               {.trainer = {.on_step = [&](const StepReport&) { ++all; }}});
  REQUIRE(all == steps_of_first + steps_of_second);

  for (std::int64_t last = 1; last <= all; ++last) {
    CAPTURE(last);
    const TemporaryFolder folder;
    std::stop_source stop;
    std::int64_t steps = 0;
    const MemberResult cut = train_member(recipe, member, in(folder),
                                          {.trainer = {.on_step =
                                                           [&](const StepReport&) {
                                                             if (++steps == last)
                                                               stop.request_stop();
                                                           }}},
                                          stop.get_token());
    CHECK((cut.status == RunStatus::interrupted));
    finish(recipe, in(folder));
    check_same(in(whole).folder, in(folder).folder);
  }
}

TEST_CASE("moments of the stage before go on where a stage keeps them, and only there") {
  std::vector<Stage> stages = stages_that_go_on();
  CHECK(steps_of(PatternRecipe(stages), "linear.weight") ==
        static_cast<float>(steps_of_first + steps_of_second));
  stages[1].keep_moments = false;
  CHECK(steps_of(PatternRecipe(stages), "linear.weight") == static_cast<float>(steps_of_second));
}

TEST_CASE("a member broken off between two stages ends with the same files, moments kept or not") {
  const OneThread one_thread;
  bool keeps = false;
  SUBCASE("a new optimiser") {}
  SUBCASE("moments go on") {
    keeps = true;
  }
  const PatternRecipe recipe(keeps ? stages_that_go_on() : accumulating_stages());
  const Member member = recipe.members().front();
  const TemporaryFolder whole;
  train_member(recipe, member, in(whole));

  const TemporaryFolder folder;
  std::stop_source stop;
  std::int64_t steps = 0;
  MemberCallbacks callbacks;
  SUBCASE("by a stop: the next stage is saved before its first step") {
    callbacks.on_stage = [&](const StageStart& start) {
      if (start.number == 1) stop.request_stop();
    };
    const MemberResult cut = train_member(recipe, member, in(folder), callbacks, stop.get_token());
    CHECK((cut.status == RunStatus::interrupted));
    const Progress saved = CheckpointStore(in(folder).folder).load_latest()->progress;
    CHECK(saved.stage == 1);
    CHECK(saved.step == 0);
  }
  SUBCASE("by its end: what was saved last is the stage before") {
    callbacks.on_stage = [](const StageStart& start) {
      if (start.number == 1) throw Killed();
    };
    CHECK_THROWS_AS(train_member(recipe, member, in(folder), callbacks), Killed);
    const Progress saved = CheckpointStore(in(folder).folder).load_latest()->progress;
    CHECK(saved.stage == 0);
    CHECK(saved.epoch == 2);
  }
  SUBCASE("by its end in the first step of the next") {
    callbacks.trainer.on_step = [&](const StepReport&) {
      if (++steps == steps_of_first + 1) throw Killed();  // told of before it is saved
    };
    CHECK_THROWS_AS(train_member(recipe, member, in(folder), callbacks), Killed);
    CHECK(CheckpointStore(in(folder).folder).load_latest()->progress.stage == 0);
  }
  at::manual_seed(99);
  finish(recipe, in(folder));
  check_same(in(whole).folder, in(folder).folder);
}

TEST_CASE("a member goes on from a checkpoint of before a setting that has its default") {
  const OneThread one_thread;
  const auto resumed_without = [](const std::vector<Stage>& stages, const std::string& name) {
    const PatternRecipe recipe(stages);
    const TemporaryFolder folder;
    std::stop_source stop;
    train_member(recipe, recipe.members().front(), in(folder),
                 {.trainer = {.on_step = [&](const StepReport&) { stop.request_stop(); }}},
                 stop.get_token());
    CheckpointStore store(in(folder).folder);
    const std::filesystem::path file = store.list().front();
    Checkpoint checkpoint = read_checkpoint(file);
    REQUIRE(checkpoint.identity.erase(name) == 1);
    write_checkpoint(file, checkpoint);
    return train_member(recipe, recipe.members().front(), in(folder)).status;
  };
  CHECK((resumed_without(two_stages(), "stage.keep_moments") == RunStatus::finished));
  CHECK((resumed_without(two_stages(), "stage.unfreeze") == RunStatus::finished));
  CHECK_THROWS_WITH_AS(resumed_without(accumulating_stages(), "stage.accumulation"),
                       doctest::Contains("stage.accumulation: nothing is now \"3\""),
                       CheckpointError);
}
