// Stages that make the activations of some blocks again.
#include <headrace/tests/models/script_modules.h>

#include "pattern_recipe.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace headrace::training;
using doctest::Contains;
namespace models = headrace::models;

namespace {

using Names = std::vector<std::string>;

// A recipe whose network has blocks; the newest network's module is kept to be looked at.
struct Blocked {
  explicit Blocked(const Names& first = {}, const Names& second = {})
      : recipe(stages(first, second)) {
    recipe.fresh = [this] {
      module = std::make_shared<BlockedModule>();
      return std::make_unique<models::ModuleNetwork<BlockedModule>>(module);
    };
  }

  static std::vector<Stage> stages(const Names& first, const Names& second) {
    std::vector<Stage> stages = two_stages();
    stages[0].checkpointed = first;
    stages[0].ema = .9;
    stages[1].checkpointed = second;
    return stages;
  }

  MemberResult train(const TemporaryFolder& folder, const MemberCallbacks& callbacks = {},
                     std::stop_token stop = {}) const {
    return train_member(recipe, recipe.members().front(), in(folder), callbacks, stop);
  }

  PatternRecipe recipe;
  std::shared_ptr<BlockedModule> module;
};

void check_same_files(const TemporaryFolder& a, const TemporaryFolder& b) {
  CheckpointStore mine(in(a).folder);
  CheckpointStore other(in(b).folder);
  CHECK(bytes_of(mine.list().front()) == bytes_of(other.list().front()));
  CHECK(bytes_of(mine.best_path()) == bytes_of(other.best_path()));
  CHECK(bytes_of(in(a).folder / "test-scores.safetensors") ==
        bytes_of(in(b).folder / "test-scores.safetensors"));
}

}  // namespace

TEST_CASE("a training with checkpointed blocks writes the files of one without, bit by bit") {
  const OneThread one_thread;
  const TemporaryFolder plain;
  Blocked().train(plain);
  for (const auto& [first, second] :
       {std::pair{Names{"*"}, Names{"*"}}, std::pair{Names{"head"}, Names{}}}) {
    const TemporaryFolder folder;
    Blocked(first, second).train(folder);
    check_same_files(folder, plain);
  }
}

TEST_CASE("each stage runs again the blocks that it names, and no others") {
  const Blocked blocked({"body"}, {"head"});
  const TemporaryFolder folder;
  int body = 0;
  int head = 0;
  std::map<std::string, std::vector<int>> extra;  // runs of body and head in a step, by stage
  std::string stage;
  blocked.train(folder, {.trainer = {.on_step =
                                         [&](const StepReport&) {
                                           extra[stage] = {blocked.module->body_runs - body,
                                                           blocked.module->head_runs - head};
                                           body = blocked.module->body_runs;
                                           head = blocked.module->head_runs;
                                         }},
                         .on_stage = [&](const StageStart& start) { stage = start.stage.name; }});
  CHECK(extra.at("first") == std::vector<int>{2, 1});
  CHECK(extra.at("second") == std::vector<int>{2, 4});  // two micro-batches
}

TEST_CASE("a run that is resumed with other checkpointed blocks ends with the same files") {
  const OneThread one_thread;
  const TemporaryFolder whole;
  Blocked().train(whole);
  const TemporaryFolder folder;
  std::stop_source stop;
  const MemberResult cut = Blocked({"*"}, {"*"})
                               .train(folder,
                                      {.trainer = {.on_step =
                                                       [&](const StepReport& step) {
                                                         if (step.step == 5) stop.request_stop();
                                                       }}},
                                      stop.get_token());
  REQUIRE((cut.status == RunStatus::interrupted));
  at::manual_seed(99);
  Blocked({}, {"body"}).train(folder);
  check_same_files(folder, whole);
}

TEST_CASE("an unknown block of the last stage is refused before anything is trained") {
  const TemporaryFolder folder;
  int steps = 0;
  CHECK_THROWS_WITH_AS(
      Blocked({}, {"boddy"})
          .train(folder, {.trainer = {.on_step = [&](const StepReport&) { ++steps; }}}),
      Contains("got \"boddy\" that fits none; the blocks are body, head"), headrace::ConfigError);
  CHECK(steps == 0);
  CHECK(CheckpointStore(in(folder).folder).list().empty());
}

TEST_CASE("checkpointed blocks of a script, and of a network without any, are refused") {
  Blocked blocked({"*"});
  const TemporaryFolder folder;
  blocked.recipe.fresh = [] {
    return headrace::test::read_written(headrace::test::script_module(headrace::test::linear));
  };
  CHECK_THROWS_WITH_AS(blocked.train(folder), Contains("a script cannot be checkpointed"),
                       headrace::ConfigError);
  blocked.recipe.fresh = fresh_network<StatefulModule>;
  CHECK_THROWS_WITH_AS(blocked.train(folder), Contains("names no blocks"), headrace::ConfigError);
}
