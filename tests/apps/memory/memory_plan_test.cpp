#include <headrace/apps/measure/memory_switches.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/apps/memory/memory_owners.h>
#include <headrace/apps/memory/memory_plan.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::app;
using namespace headrace::literals;
namespace monitor = headrace::monitor;

namespace {

// 10 MiB of state; a row takes 2 MiB in a step and 1 in an evaluation; 5 MiB beside tensors.
MeasuredStage measured_stage() {
  MeasuredStage stage{.name = "train",
                      .weights = 2_MiB,
                      .gradients = 2_MiB,
                      .moments = 4_MiB,
                      .average = 2_MiB,
                      .checkpoint = 8_MiB};
  for (const std::int64_t rows : {32, 16, 8})
    stage.points.push_back({.rows = rows,
                            .evaluation_rows = 2 * rows,
                            .training = (10 + 2 * static_cast<std::uint64_t>(rows)) * 1_MiB,
                            .evaluation = (10 + 2 * static_cast<std::uint64_t>(rows)) * 1_MiB,
                            .beside = static_cast<std::uint64_t>(rows == 32 ? 5 : 9) * 1_MiB,
                            .step_s = 0.1});
  return stage;
}

PlannedStage planned_stage(std::int64_t batch, std::int64_t evaluation) {
  PlannedStage stage{.name = "train",
                     .batch = batch,
                     .accumulation = 1,
                     .evaluation_batch = evaluation,
                     .batch_bytes = {.host = 32_MiB},
                     .measured = measured_stage()};
  stage.host.add("data in memory", 20_MiB);
  stage.host.add("training: slabs", 32_MiB, "4 x 8.00 MiB");
  add_stage_memory(stage, stage.host, stage.host);
  return stage;
}

MemoryPlan plan_of(const PlannedStage& stage, std::uint64_t limit) {
  return {.stages = {stage}, .host_limit = {.bytes = limit, .source = "configuration"}};
}

std::string plan_refusal(const MemoryPlan& plan) {
  try {
    plan.require("take less");
  } catch (const headrace::ResourceError& error) {
    return error.what();
  }
  return "fits";
}

}  // namespace

TEST_CASE("a stage takes its state, its activations and what is beside them, data and slabs") {
  // 20 data, 32 slabs, 10 state, 64 activations, 5 beside, 8 copy.
  CHECK(planned_stage(32, 64).host.total() == 139_MiB);
  // An evaluation that takes more than a step counts in its place.
  CHECK(planned_stage(32, 128).host.total() == 139_MiB + 64_MiB);
}

TEST_CASE("rows that figures keep to an evaluation's end count with it, and put together there") {
  PlannedStage stage = planned_stage(32, 64);
  const std::uint64_t without = bytes_of_tensors(stage);
  stage.measured.evaluated = 1024;
  stage.measured.points.front().kept_of_row = 8 << 10;
  CHECK(stage.measured.kept() == 8_MiB);
  CHECK(bytes_of_tensors(stage) == without + 8_MiB);
  // 4 x 128 beside the state of 10: more than a step.
  stage.measured.evaluated *= 16;
  CHECK(stage.measured.tensors(32, 64) == (10 + 4 * 128) * 1_MiB);
  CHECK(stage.measured.tensors(32, 0) == stage.measured.training().at(32));
  // Of a GPU they come to the host for it.
  monitor::MemoryForecast host;
  add_stage_memory(stage, stage.device, host);
  CHECK(host.total() == (8 + 2 * 128) * 1_MiB);
}

TEST_CASE("what was measured goes to another process and back") {
  const MeasuredMemory there =
      parse_measured_memory(to_json(MeasuredMemory{.stages = {measured_stage()}}));
  REQUIRE(there.stages.size() == 1);
  const MeasuredStage& stage = there.stages.front();
  CHECK(stage.state() == 10_MiB);
  CHECK(stage.checkpoint == 8_MiB);
  CHECK(stage.points.size() == 3);
  CHECK(stage.training().at(32) == 74_MiB);
  CHECK(stage.evaluation().at(64) == 74_MiB);
  CHECK(stage.beside() == 5_MiB);  // of the largest batch, not of the largest value
  CHECK_THROWS_AS(parse_measured_memory("{\"stages\": 1}"), headrace::ConfigError);
}

TEST_CASE("what was measured holds counts, and nothing else for them") {
  const std::string text = to_json(MeasuredMemory{.stages = {measured_stage()}});
  const std::string key = "\"evaluated\": ";
  const std::size_t at = text.find(key) + key.size();
  const std::size_t end = text.find_first_of(",\n", at);
  for (const char* wrong : {"-1", "1e300", "0.5", "\"1\"", "null", "99999999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_measured_memory(text.substr(0, at) + wrong + text.substr(end)),
                    headrace::ConfigError);
  }
  CHECK(parse_measured_memory(text.substr(0, at) + "7" + text.substr(end)).stages[0].evaluated ==
        7);
}

TEST_CASE("the sizes that are tried begin with that of the configuration") {
  CHECK(rows_to_measure(128) == std::vector<std::int64_t>{128, 64, 32});
  CHECK(rows_to_measure(8) == std::vector<std::int64_t>{8, 4, 2});
  CHECK(rows_to_measure(1) == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("slots of loaders on a device are of the batch's size, too") {
  PlannedStage stage = planned_stage(32, 64);
  stage.host = {};
  stage.batch_bytes = {.device = 16_MiB};
  stage.evaluation_bytes = {.device = 8_MiB};
  stage.device.add("slots of loaders", 24_MiB);
  monitor::MemoryForecast host;
  add_stage_memory(stage, stage.device, host);
  MemoryPlan plan = plan_of(stage, 1024_MiB);
  plan.device_limit = {.bytes = 1024_MiB, .source = "card"};
  CHECK(total_with(plan, stage, stage.measured, 32, 64).device == stage.device.total());
  // Half the rows: 12 of slots and 32 of activations less.
  CHECK(total_with(plan, stage, stage.measured, 16, 32).device == stage.device.total() - 44_MiB);
}

TEST_CASE("all stages are one table, whose parts have one row each") {
  MemoryPlan plan = plan_of(planned_stage(32, 0), 200_MiB);
  PlannedStage second = planned_stage(16, 0);
  second.name = "finetune";
  plan.stages.push_back(second);
  CHECK(
      plan.table() ==
      "                                       train    finetune\n"
      "  data in memory                    20.0 MiB    20.0 MiB\n"
      "  training: slabs                   32.0 MiB    32.0 MiB  4 x 8.00 MiB\n"
      "  weights                           2.00 MiB    2.00 MiB\n"
      "  gradients                         2.00 MiB    2.00 MiB\n"
      "  moments                           4.00 MiB    4.00 MiB\n"
      "  averaged weights                  2.00 MiB    2.00 MiB\n"
      "  activations, workspace, losses    64.0 MiB    32.0 MiB\n"
      "  LibTorch beside tensors           5.00 MiB    5.00 MiB  libraries, scratch, unused parts "
      "of its heap\n"
      "  copy for checkpoints              8.00 MiB    8.00 MiB\n"
      "  ------------------------------------------------------\n"
      "  total                              139 MiB     107 MiB\n"
      "  limit                              200 MiB     200 MiB  configuration\n"
      "  left                              61.0 MiB    93.0 MiB\n");
  CHECK(plan.largest().host.total() == 139_MiB);
  CHECK(plan.line().starts_with("memory 139 MiB of 200 MiB (configuration): activations"));
  CHECK(plan.line().ends_with("(stage train, the largest)"));
}

TEST_CASE("a stage behind the first that does not fit is refused with its name and the numbers") {
  MemoryPlan plan = plan_of(planned_stage(8, 0), 100_MiB);
  PlannedStage second = planned_stage(32, 0);
  second.name = "finetune";
  plan.stages.push_back(second);
  CHECK(plan.too_large()->name == "finetune");
  const std::string said = plan_refusal(plan);
  CHECK(
      said.starts_with("[memory] stage finetune must fit the limit of 100 MiB (configuration), got "
                       "139 MiB, 39.0 MiB too much; take less\n"));
  CHECK(said.find("-39.0 MiB") != std::string::npos);
  plan.host_limit.bytes = 139_MiB;
  CHECK(plan.too_large() == nullptr);
  CHECK(plan_refusal(plan) == "fits");
}

TEST_CASE("the nearest change keeps the effective batch, and touches the evaluation first") {
  // 32 rows and slabs of 32 MiB; half of both is 48 MiB less.
  const StageChange half =
      change_to_fit(plan_of(planned_stage(32, 64), 100_MiB), planned_stage(32, 64)).value();
  CHECK(half.batch == 16);
  CHECK(half.accumulation == 2);
  CHECK(half.evaluation_batch == 32);
  MemoryPlan plan = plan_of(planned_stage(32, 64), 100_MiB);
  CHECK(to_text(plan, plan.stages[0], half) ==
        "training.batch=16, training.accumulation=2 (the same effective batch), "
        "training.evaluation_batch=32");
  plan.stages_are_listed = true;
  CHECK(to_text(plan, plan.stages[0], {.batch = 16, .accumulation = 2}) ==
        "batch=16, accumulation=2 (the same effective batch) of stage train");
  const StageChange evaluation =
      change_to_fit(plan_of(planned_stage(32, 128), 140_MiB), planned_stage(32, 128)).value();
  CHECK(evaluation.batch == 0);
  // A run that goes on may change nothing else.
  CHECK(evaluation_to_fit(plan_of(planned_stage(32, 128), 140_MiB), planned_stage(32, 128))
            ->evaluation_batch == evaluation.evaluation_batch);
  CHECK(evaluation_to_fit(plan_of(planned_stage(32, 64), 100_MiB), planned_stage(32, 64)) ==
        std::nullopt);
  CHECK(evaluation.evaluation_batch == 64);
  CHECK_FALSE(
      change_to_fit(plan_of(planned_stage(32, 0), 139_MiB), planned_stage(32, 0))->needed());
  // Not one row: 20 + 1 + 10 + 2 + 5 + 8.
  CHECK(change_to_fit(plan_of(planned_stage(32, 0), 45_MiB), planned_stage(32, 0)) == std::nullopt);
  CHECK(change_to_fit(plan_of(planned_stage(32, 0), 46_MiB), planned_stage(32, 0))->batch == 1);
  // Norms over the batch need two.
  PlannedStage norms = planned_stage(32, 0);
  norms.measured.least_rows = 2;
  CHECK(change_to_fit(plan_of(norms, 46_MiB), norms) == std::nullopt);
  CHECK(change_to_fit(plan_of(norms, 49_MiB), norms)->batch == 2);
}

TEST_CASE("without a measurement there is no change to propose, and the table says why") {
  PlannedStage stage = planned_stage(32, 0);
  stage.measured.points.clear();
  MemoryPlan plan = plan_of(stage, 1_MiB);
  plan.unmeasured = "memory.measure is false";
  CHECK(change_to_fit(plan, stage) == std::nullopt);
  CHECK(plan.table().ends_with("not in it: what activations take, memory.measure is false\n"));
}

TEST_CASE("a dry run's time is of all micro-batches, epochs and members") {
  PlannedStage stage = planned_stage(32, 64);
  stage.accumulation = 4;
  stage.records = 1000;
  stage.epochs = 30;
  // 32 batches, the last not full, in 8 steps.
  MemoryPlan plan = plan_of(stage, 1024_MiB);
  CHECK(time_text(plan, 10) ==
        "  time: a step takes about 400 ms (measured), an epoch of 8 steps about 3.20 s, all 30 "
        "epochs of 10 members at most 16 min 0 s\n"
        "  not in it: waits for data, evaluations\n");
  plan.stages.push_back(stage);
  plan.stages.back().name = "all";
  const std::string both = time_text(plan, 1);
  CHECK(both.find("time of stage all: a step") != std::string::npos);
  CHECK(both.find("all 30 epochs at most 1 min 36 s\n") != std::string::npos);
  CHECK(both.find("time of all stages: at most 3 min 12 s\n") != std::string::npos);
  plan.stages.back().measured.points.clear();
  CHECK(time_text(plan, 1).empty());
}

TEST_CASE("the least micro-batch divides the batch, and is one that the network takes") {
  PlannedStage stage = planned_stage(32, 64);
  CHECK(least_rows(stage) == 1);
  stage.measured.least_rows = 2;
  CHECK(least_rows(stage) == 2);
  stage.batch = 7;
  CHECK(least_rows(stage) == 7);
}

TEST_CASE("whether a larger card is needed is said of what is lacking, with what it takes") {
  PlannedStage stage = planned_stage(32, 64);
  MemoryPlan plan = plan_of(stage, 1024_MiB);
  plan.device_limit = {.bytes = 50_MiB, .source = "what the card has free"};
  const SwitchSearch nothing{.least = SplitBytes{.host = 100_MiB, .device = 60_MiB},
                             .of_least = {{.what = "precision bf16"}, {.what = "size 192"}}};
  CHECK(memory_verdict(plan, stage, nothing) ==
        "a larger card is needed, with 60.0 MiB free at least: even a batch of 1 with precision "
        "bf16, size 192 takes that; raise the limit where there is more, or take a smaller network "
        "or smaller inputs");
  const SwitchSearch found{.found =
                               SwitchesThatFit{.changes = {{.path = "image.size", .value = "192"}},
                                               .rows = {.batch = 16, .accumulation = 2}}};
  CHECK(memory_verdict(plan, stage, found) ==
        "a larger card is not needed, the nearest change that fits: --set image.size=192, with "
        "training.batch=16, training.accumulation=2 (the same effective batch)");
  plan.host_limit.bytes = 80_MiB;
  CHECK(
      memory_verdict(plan, stage, nothing).starts_with("more memory is needed, 100 MiB at least"));
  CHECK(memory_verdict(plan, stage, SwitchSearch{})
            .find("could not be measured, not even of a "
                  "batch of 1;") != std::string::npos);
}
