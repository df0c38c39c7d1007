// From an epoch of a run to the rules of advice.
#include <headrace/apps/view/run_adviser.h>
#include <headrace/engine/base/literals.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sys/resource.h>

using namespace headrace;
using app::EpochFacts;
using app::RunAdviser;

namespace {

// A stage of ten epochs whose steps wait for nothing.
class Stage {
 public:
  explicit Stage(RunAdviser& adviser, const app::AdvisedStage& stage = {.epochs = 10},
                 const LoaderStats& stats = {})
      : adviser_(adviser), stats_(stats) {
    adviser_.begin_stage(stage);
  }

  std::vector<std::string> epoch(std::int64_t number, std::uint64_t tensors = 512_MiB,
                                 const EpochFacts& more = {}) {
    const monitor::PhaseMemory memory{.allocated = tensors, .peak = 2 * tensors};
    const app::PhaseFacts phase{.phase = app::RunPhase::training,
                                .epoch = number,
                                .memory = memory,
                                .limits = {.process = 64 * 1024_MiB}};
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
  LoaderStats stats_;
};

// Of this process, until its end.
class MemoryLockLimit {
 public:
  explicit MemoryLockLimit(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_MEMLOCK, &before_) == 0);
    const rlimit now{.rlim_cur = std::min(bytes, before_.rlim_max), .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &now) == 0);
  }
  MemoryLockLimit(const MemoryLockLimit&) = delete;
  MemoryLockLimit& operator=(const MemoryLockLimit&) = delete;
  ~MemoryLockLimit() { setrlimit(RLIMIT_MEMLOCK, &before_); }

 private:
  rlimit before_{};
};

int count_rule(const std::vector<std::string>& rules, const std::string& rule) {
  return static_cast<int>(std::ranges::count(rules, rule));
}

EpochFacts validated(double accuracy, std::vector<std::vector<std::int64_t>> counts) {
  return {.validation = {{"accuracy", accuracy}}, .confusion = {.counts = std::move(counts)}};
}

}  // namespace

TEST_CASE("tensors that grow from epoch to epoch are advised of by their rule, once") {
  RunAdviser adviser({});
  Stage stage(adviser);
  int said = 0;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const auto rules = stage.epoch(epoch, (512 + 64 * static_cast<std::uint64_t>(epoch)) * 1_MiB);
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
  CHECK(learning->mean_recall == 0.5);
  CHECK(learning->classes == 2);
  const auto empty_class =
      app::learning_facts(validated(0.7, {{45, 15, 0}, {0, 0, 0}, {10, 5, 5}}));
  REQUIRE(empty_class);
  CHECK(empty_class->mean_recall == 0.5);
  CHECK(empty_class->classes == 2);
  CHECK_FALSE(app::learning_facts(validated(0.6, {})));
  CHECK_FALSE(app::learning_facts({.validation = {{"dice", 0.6}}}));
}

TEST_CASE("a network that knows no more than the most frequent class is told of") {
  RunAdviser adviser({});
  Stage stage(adviser);
  bool said = false;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const auto rules = stage.epoch(epoch, 512_MiB, validated(0.2, {{20, 0}, {20, 0}, {60, 0}}));
    said = said || std::ranges::find(rules, "majority-class") != rules.end();
  }
  CHECK(said);
}

TEST_CASE("a network that finds a rare class is not told that it knows only the frequent one") {
  const auto said_of = [](double accuracy, const std::vector<std::vector<std::int64_t>>& counts) {
    RunAdviser adviser({});
    Stage stage(adviser);
    int said = 0;
    for (std::int64_t epoch = 0; epoch < 6; ++epoch)
      said +=
          count_rule(stage.epoch(epoch, 512_MiB, validated(accuracy, counts)), "majority-class");
    return said;
  };
  CHECK(said_of(0.865, {{820, 123}, {12, 45}}) == 0);
  CHECK(said_of(0.943, {{943, 0}, {57, 0}}) == 1);
}

TEST_CASE("a limit of open files is told of at the start, and not again at each stage") {
  RunAdviser adviser({.files_needed = 1'000'000'000});
  const auto advice = adviser.on_start();
  REQUIRE(advice.size() == 1);
  CHECK(advice.front().rule == "file-limit");
  for (int i = 0; i < 2; ++i) {
    Stage stage(adviser);
    CHECK(count_rule(stage.epoch(0), "file-limit") == 0);
  }
  CHECK(RunAdviser({}).on_start().empty());
}

TEST_CASE("the limit of locked memory is told of where pages could not be locked, and only there") {
  const MemoryLockLimit limit(64 * 1024);
  LoaderStats stats;
  stats.transfer.copies = 1;
  const app::AdvisedStage with_slabs{.epochs = 10, .slab_bytes = 1_MiB};
  RunAdviser refused({.on_gpu = true});
  CHECK(count_rule(Stage(refused, with_slabs, stats).epoch(0), "locked-limit") == 1);
  stats.transfer.page_locked = true;
  RunAdviser locked({.on_gpu = true});
  CHECK(count_rule(Stage(locked, with_slabs, stats).epoch(0), "locked-limit") == 0);
}

TEST_CASE(
    "copies from memory that is not page-locked ask for its limit once, where it is too low") {
  const MemoryLockLimit limit(64 * 1024);
  LoaderStats stats;
  stats.transfer.copies = 1;
  const monitor::StepBudget copying{
      .steps = 100, .on_gpu = true, .wall_s = 10.0, .copy_s = 2.0, .compute_s = 8.0};
  const auto advice_of = [&](std::uint64_t slab_bytes) {
    RunAdviser adviser({.on_gpu = true, .settings = {.prefetch = 4}});
    adviser.begin_stage({.epochs = 10, .slab_bytes = slab_bytes});
    return adviser.on_epoch({.epoch = {.seconds = 10.0},
                             .epochs = 10,
                             .budget = copying,
                             .verdict = {.bound = monitor::InputBound::not_input_bound},
                             .stats = stats,
                             .system = {}});
  };
  const auto low = advice_of(1_MiB);
  REQUIRE(low.size() == 1);
  CHECK(low.front().rule == "exposed-copies");
  CHECK(low.front().setting == "ulimit -l");
  CHECK(low.front().new_value == "1024 KiB");
  const auto enough = advice_of(1024);
  REQUIRE(enough.size() == 1);
  CHECK(enough.front().setting == "data.prefetch");
}

TEST_CASE("an automatic device that could not use the GPU that is there is told of, with why") {
  const auto rules = [](const app::RunAdviserOptions& options, bool there) {
    RunAdviser adviser(options);
    adviser.begin_stage({.epochs = 10});
    app::SystemWindow system;
    if (there) system.gpu = monitor::GpuFacts{.name = "card", .busy_share = 0.0};
    std::string text;
    for (const monitor::Advice& advice :
         adviser.on_epoch({.epoch = {.seconds = 10.0},
         .epochs = 10,
         .budget = {.steps = 100, .wall_s = 10.0, .compute_s = 10.0},
         .verdict = {.bound = monitor::InputBound::not_input_bound},
         .stats = {},
         .system = system}))
      text += advice.rule + ": " + advice.verdict;
    return text;
  };
  const app::RunAdviserOptions refused{.no_gpu = "no CUDA library"};
  CHECK(rules(refused, true) ==
        "gpu-unused: training runs on the CPU though a GPU is there: no CUDA library");
  CHECK(rules(refused, false).empty());
  CHECK(rules({}, true).empty());  // cpu, as configured
}

TEST_CASE("a limit is reached where the process has it, not the part that grows") {
  RunAdviser adviser({});
  adviser.begin_stage({.epochs = 100});
  app::MemoryPhases phases;
  std::string effect;
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
    const monitor::PhaseMemory memory{
        .allocated = 1_GiB, .peak = 40_GiB, .process = {.anonymous = (8 + epoch) * 1_GiB}};
    const app::PhaseFacts phase{
        .epoch = static_cast<std::int64_t>(epoch), .memory = memory, .limits = {.process = 64_GiB}};
    phases.add(phase, 100);
    adviser.on_phase(phase, phases.judge());
    for (const monitor::Advice& advice :
         adviser.on_epoch({.epoch = {.epoch = phase.epoch, .seconds = 10.0},
         .epochs = 100,
         .budget = {.steps = 100, .wall_s = 10.0, .compute_s = 10.0},
         .verdict = {},
         .stats = {},
         .system = {}}))
      if (advice.rule == "process-grows") effect = advice.effect;
  }
  // 12 GiB beside 40 in tensors, one more an epoch.
  CHECK_MESSAGE(effect.find("the limit of 64.0 GiB is reached in epoch 18") != std::string::npos,
                effect);
}

TEST_CASE("the time left is that of all members, and told of where it is more than was wanted") {
  app::RunAdviserOptions options{.settings = {.keys = {"training.epochs"}},
                                 .seconds_wanted = 200.0};
  RunAdviser one_stage(options);  // nine epochs of ten seconds are left
  CHECK(count_rule(Stage(one_stage).epoch(0), "time-budget") == 0);
  options.epochs = 30;
  RunAdviser three_members(options);
  CHECK(count_rule(Stage(three_members).epoch(0), "time-budget") == 1);
  RunAdviser in_the_last(options);
  for (int member = 0; member < 2; ++member)
    in_the_last.begin_stage({.epochs = 10});
  CHECK(count_rule(Stage(in_the_last).epoch(0), "time-budget") == 0);
}

TEST_CASE("what a stage was told of, the next is not told again") {
  for (const std::int64_t epochs : {2, 4}) {
    RunAdviser adviser({.settings = {.keys = {"training.epochs"}},
                        .seconds_wanted = 60.0,
                        .began = std::chrono::steady_clock::now() - std::chrono::hours(1),
                        .epochs = 4 * epochs});
    int said = 0;
    for (int member = 0; member < 4; ++member) {
      Stage stage(adviser, {.epochs = epochs});
      for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
        said += count_rule(stage.epoch(epoch), "time-budget");
    }
    CHECK(said == 1);
  }
}

TEST_CASE("advice on a stage is by the settings of that stage") {
  const monitor::SettingFacts of_all{.keys = {"training.epochs"}, .precision = "fp32"};
  RunAdviser adviser({.settings = of_all,
                      .stage_settings = {{.keys = {"training.batch"}}, of_all},
                      .seconds_wanted = 30.0,
                      .epochs = 20});
  const auto setting_of = [&](std::int64_t number) {
    adviser.begin_stage({.number = number, .epochs = 10});
    std::string setting = "nothing was said";
    for (const monitor::Advice& advice :
         adviser.on_epoch({.epoch = {.epoch = 0, .seconds = 10.0},
         .epochs = 10,
         .budget = {.steps = 100, .wall_s = 10.0, .compute_s = 10.0},
         .verdict = {},
         .stats = {},
         .system = {}}))
      if (advice.rule == "time-budget") setting = advice.setting;
    return setting;
  };
  CHECK(setting_of(0).empty());
  CHECK(setting_of(1) == "training.epochs");
}

TEST_CASE("without a sample of the machine the process's own CPU time speaks for threads") {
  constexpr std::int64_t samples = 10'000;
  LoaderStats stats;
  stats.samples = samples;
  stats.threads = 1;
  stats.io_threads = 1;
  stats.slabs = 4;
  StageStats decode;
  decode.name = decode.role = "decode";
  decode.items = samples;
  decode.busy_s = 9.8;
  stats.stages = {decode};
  stats.wait.total_s = 5.0;
  stats.step.total_s = 5.0;
  const monitor::StepBudget budget{
      .steps = 100, .wall_s = 10.0, .data_wait_s = 5.0, .compute_s = 5.0};
  const monitor::Verdict verdict =
      monitor::judge(budget, monitor::loader_load(stats), {.usable_cores = 8});
  const auto said_of = [&](const monitor::CpuUsage& usage) {
    RunAdviser adviser({});
    adviser.begin_stage({.epochs = 10});
    std::vector<std::string> rules;
    for (const monitor::Advice& advice : adviser.on_epoch({.epoch = {.epoch = 0, .seconds = 10.0},
                                         .epochs = 10,
                                         .budget = budget,
                                         .verdict = verdict,
                                         .stats = stats,
                                         .system = {},
                                         .usage = usage}))
      rules.push_back(advice.rule);
    return rules;
  };
  const unsigned cores = monitor::usable_cores();
  monitor::CpuUsage half_idle;
  half_idle.interval_s = 10.0;
  half_idle.process_share = 0.5 / cores;
  CHECK(count_rule(said_of(half_idle), cores > 1 ? "raise-threads" : "cheaper-step") == 1);
  monitor::CpuUsage full = half_idle;
  full.process_share = full.machine_share = 1.0;
  CHECK(count_rule(said_of(full), "cheaper-step") == 1);
}
