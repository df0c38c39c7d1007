#include <headrace/apps/config/document.h>
#include <headrace/apps/config/moved_keys.h>
#include <headrace/apps/train/fitted_job.h>
#include <headrace/apps/train/memory_switches.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string text_at(const TrainingJob& job, const std::string& path) {
  const Node document = parse_document(job.yaml, "the configuration");
  const Node* node = find_path(document, path);
  return node == nullptr ? std::string() : node->text;
}

// Half the side, or less: a multiple that every network of pictures takes.
std::string half_size(const std::string& side) {
  constexpr std::int64_t multiple = 32;
  const std::int64_t half = std::strtoll(side.c_str(), nullptr, 10) / 2;
  return std::to_string(std::max(half / multiple, std::int64_t{1}) * multiple);
}

std::string fewer(const std::string& count) {
  return std::to_string(std::max<std::int64_t>(std::strtoll(count.c_str(), nullptr, 10) - 2, 1));
}

}  // namespace

std::vector<MemorySwitch> switches_of(const TrainingJob& job) {
  const std::string smaller = half_size(text_at(job, "image.size"));
  const std::vector<MemorySwitch> all{
      {"checkpointing of all blocks", "training.checkpointed", "['*']"},
      {"no averaged weights", "training.ema", "0.0"},
      {"precision bf16", "training.precision", "bf16"},
      {"no deep supervision", "model.deep_supervision", "false"},
      {"fewer experts", "model.experts", fewer(text_at(job, "model.experts"))},
      {"size " + smaller, "image.size", smaller}};
  std::vector<MemorySwitch> known;
  for (const MemorySwitch& one : all)
    if (yaml_with(job, one.path, one.value)) {
      known.push_back(one);
      known.back().of_stages = is_of_stages(job, one.path);
    }
  return known;
}

std::string MemorySwitch::advice() const {
  if (!of_stages) return "--set " + setting();
  return "in training.stages: " + path.substr(path.find('.') + 1) + ": " + value;
}

SwitchedStage measure_switch(const SwitchCall& call, const MemorySwitch& change) {
  SwitchedStage switched{.change = change};
  try {
    const TrainingJob job = read_training_text(
        call.jobs, yaml_with(call.job, change.path, change.value).value(), change.setting());
    MeasureOptions options = call.options;
    options.stage = call.stage;
    MeasuredMemory measured = measure_apart(job, options, call.member);
    if (measured.stages.empty())
      switched.failed = measured.failed;
    else
      switched.measured = std::move(measured.stages.front());
    if (switched.failed.empty() && switched.measured.points.empty())
      switched.failed = switched.measured.ended;
  } catch (const ConfigError& error) {
    switched.failed = error.what();
  }
  return switched;
}

std::optional<SwitchThatFits> switch_to_fit(const SwitchCall& call, const MemoryPlan& plan,
                                            const PlannedStage& stage) {
  for (const MemorySwitch& change : switches_of(call.job)) {
    fmt::print(stderr, "stage {} does not fit: trying {}\n", stage.name, change.what);
    const SwitchedStage switched = measure_switch(call, change);
    if (!switched.failed.empty()) continue;
    if (const auto rows = change_to_fit(plan, stage, switched.measured))
      return SwitchThatFits{.change = change, .rows = *rows};
  }
  return std::nullopt;
}

}  // namespace headrace::inline v1::app
