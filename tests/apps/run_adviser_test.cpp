// From an epoch of a run to the rules of advice.
#include <headrace/apps/train/run_adviser.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::AdvisedEpoch;
using app::EpochFacts;
using app::RunAdviser;

namespace {

constexpr std::uint64_t mib = 1 << 20;

// A stage of ten epochs whose steps wait for nothing.
class Stage {
 public:
  explicit Stage(RunAdviser& adviser) : adviser_(adviser) { adviser_.begin_stage(); }

  std::vector<std::string> epoch(std::int64_t number, std::uint64_t tensors = 512 * mib,
                                 const EpochFacts& more = {}) {
    const monitor::PhaseMemory memory{.allocated = tensors, .peak = 2 * tensors};
    const app::PhaseFacts phase{.phase = app::RunPhase::training,
                                .epoch = number,
                                .memory = memory,
                                .limits = {.process = 64 * 1024 * mib}};
    phases_.add(phase, 10);
    adviser_.on_phase(phase, phases_.judge());
    EpochFacts facts = more;
    facts.epoch = number;
    facts.seconds = 10.0;
    std::vector<std::string> rules;
    for (const monitor::Advice& advice : adviser_.on_epoch({.epoch = facts,
                                         .epochs = 10,
                                         .budget = budget_,
                                         .verdict = verdict_,
                                         .stats = stats_,
                                         .system = {}}))
      rules.push_back(advice.rule);
    return rules;
  }

 private:
  RunAdviser& adviser_;
  app::MemoryPhases phases_;
  monitor::StepBudget budget_{.steps = 100, .wall_s = 10.0, .compute_s = 10.0};
  monitor::Verdict verdict_{.bound = monitor::InputBound::not_input_bound};
  LoaderStats stats_{};
};

EpochFacts validated(double accuracy, std::vector<std::vector<std::int64_t>> counts) {
  return {.validation = {{"accuracy", accuracy}}, .confusion = {.counts = std::move(counts)}};
}

}  // namespace

TEST_CASE("tensors that grow from epoch to epoch are advised of by their rule, once") {
  RunAdviser adviser({});
  Stage stage(adviser);
  int said = 0;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const auto rules = stage.epoch(epoch, (512 + 64 * static_cast<std::uint64_t>(epoch)) * mib);
    said += static_cast<int>(std::count(rules.begin(), rules.end(), "tensors-grow"));
  }
  CHECK(said == 1);
}

TEST_CASE("a healthy run on a CPU is advised of nothing") {
  RunAdviser adviser({});
  Stage stage(adviser);
  for (std::int64_t epoch = 0; epoch < 8; ++epoch)
    CHECK(stage.epoch(epoch).empty());
}

TEST_CASE("accuracy stands beside that of always saying the most frequent class") {
  const auto learning = app::learning_facts(validated(0.6, {{60, 0}, {40, 0}}));
  REQUIRE(learning);
  CHECK(learning->accuracy == 0.6);
  CHECK(learning->majority == 0.6);
  CHECK_FALSE(app::learning_facts(validated(0.6, {})));
  CHECK_FALSE(app::learning_facts({.validation = {{"dice", 0.6}}}));
}

TEST_CASE("a network that knows no more than the most frequent class is told of") {
  RunAdviser adviser({});
  Stage stage(adviser);
  bool said = false;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const auto rules = stage.epoch(epoch, 512 * mib, validated(0.2, {{20, 0}, {20, 0}, {60, 0}}));
    said = said || std::ranges::find(rules, "majority-class") != rules.end();
  }
  CHECK(said);
}
