#include <headrace/apps/config/document.h>
#include <headrace/apps/measure/fitted_job.h>
#include <headrace/apps/measure/memory_switches.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string text_at(const TrainingJob& job, const std::string& path) {
  const Node document = parse_document(job.yaml, "the configuration");
  const Node* node = find_path(document, path);
  return node == nullptr ? std::string() : node->text;
}

struct Share {
  std::int64_t of = 1;
  std::int64_t parts = 1;
};

// A share of the side, or less: a multiple that every network of pictures takes.
std::string size_of(const std::string& side, Share share) {
  constexpr std::int64_t multiple = 32;
  const std::int64_t wanted = std::strtoll(side.c_str(), nullptr, 10) * share.of / share.parts;
  return std::to_string(std::max(wanted / multiple, std::int64_t{1}) * multiple);
}

// At least two, of which a mixture makes its choice; of a network's own number, null, these.
std::string fewer(const std::string& count) {
  return std::to_string(std::max<std::int64_t>(std::strtoll(count.c_str(), nullptr, 10) - 2, 2));
}

TrainingJob switched_job(const SwitchCall& call, std::span<const MemorySwitch> changes) {
  TrainingJob job = call.job;
  for (const MemorySwitch& change : changes)
    if (const auto yaml = yaml_with(job, change.path, change.value))
      job = read_training_text(call.jobs, *yaml, change.setting());
  return job;
}

// Without points where it could not be measured; `ended` says why.
MeasuredStage measure_with(const SwitchCall& call, std::span<const MemorySwitch> changes) {
  try {
    MeasureOptions options = call.options;
    options.stage = call.stage;
    MeasuredMemory measured = measure_apart(switched_job(call, changes), options, call.member);
    if (measured.stages.empty()) return {.ended = measured.failed};
    return std::move(measured.stages.front());
  } catch (const ConfigError& error) {
    return {.ended = error.what()};
  }
}

// Of one key only what changes most, which stands last.
std::vector<MemorySwitch> together(const std::vector<MemorySwitch>& possible) {
  std::vector<MemorySwitch> all;
  for (const MemorySwitch& one : possible) {
    std::erase_if(all, [&](const MemorySwitch& other) { return other.path == one.path; });
    all.push_back(one);
  }
  return all;
}

struct SwitchesMeasured {
  std::vector<MemorySwitch> changes;
  MeasuredStage measured;
};

// What the machine's memory has room for, whatever a configuration or a card allows.
std::uint64_t room_of_machine(MemoryPlan plan) {
  const monitor::MemoryLimit machine = monitor::tightest_memory_limit(std::nullopt);
  plan.host_limit.bytes = machine.bytes;
  if (plan.device_limit)
    plan.device_limit->bytes = std::max(plan.device_limit->bytes, machine.bytes);
  return room_for_tensors(plan);
}

// A measurement with some switches; gives whether the stage fits with them.
bool see(SwitchSearch& search, const MemoryPlan& plan, const PlannedStage& stage,
         const SwitchesMeasured& tried) {
  if (tried.measured.points.empty()) return false;
  if (const auto rows = change_to_fit(plan, stage, tried.measured)) {
    search.found = SwitchesThatFit{.changes = tried.changes, .rows = *rows};
    return true;
  }
  const SplitBytes least = total_with(plan, stage, tried.measured, least_rows(stage),
                                      stage.evaluation_batch > 0 ? 1 : 0);
  if (!search.least || least.host + least.device < search.least->host + search.least->device) {
    search.least = least;
    search.of_least = tried.changes;
  }
  return false;
}

// With all that are possible, where none is enough: as each was tried, and where nothing could be
// measured so, the fewest rows alone.
void search_together(SwitchSearch& search, const SwitchCall& call, const MemoryPlan& plan,
                     const PlannedStage& stage, const std::vector<MemorySwitch>& all) {
  fmt::print(stderr, "stage {} does not fit: trying all of these together\n", stage.name);
  if (see(search, plan, stage, {all, measure_with(call, all)}) || search.least) return;
  SwitchCall fewest = call;
  fewest.options.rows = {least_rows(stage)};
  fewest.options.limit = room_of_machine(plan);
  see(search, plan, stage, {all, measure_with(fewest, all)});
}

}  // namespace

std::vector<MemorySwitch> switches_of(const TrainingJob& job) {
  const std::string side = text_at(job, "image.size");
  const std::string smaller = size_of(side, {.of = 11, .parts = 12});
  const std::string half = size_of(side, {.of = 1, .parts = 2});
  std::vector<MemorySwitch> all{
      {"checkpointing of all blocks", "training.checkpointed", "['*']"},
      {"no averaged weights", "training.ema", "0.0"},
      {"precision bf16", "training.precision", "bf16"},
      {"no deep supervision", "model.deep_supervision", "false"},
      {"fewer experts", "model.experts", fewer(text_at(job, "model.experts"))}};
  if (smaller != half) all.push_back({"size " + smaller, "image.size", smaller});
  all.push_back({"size " + half, "image.size", half});
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
  SwitchedStage switched{.change = change, .measured = measure_with(call, {&change, 1})};
  if (switched.measured.points.empty()) switched.failed = switched.measured.ended;
  return switched;
}

SwitchSearch switches_to_fit(const SwitchCall& call, const MemoryPlan& plan,
                             const PlannedStage& stage) {
  SwitchSearch search;
  see(search, plan, stage, {{}, stage.measured});
  std::vector<MemorySwitch> possible;
  for (const MemorySwitch& change : switches_of(call.job)) {
    fmt::print(stderr, "stage {} does not fit: trying {}\n", stage.name, change.what);
    const SwitchedStage switched = measure_switch(call, change);
    if (see(search, plan, stage, {{change}, switched.measured})) return search;
    const bool ran_out = switched.measured.exceeded_rows > 0;
    if (switched.failed.empty() || ran_out) possible.push_back(change);
  }
  search_together(search, call, plan, stage, together(possible));
  return search;
}

std::string to_text(const std::vector<MemorySwitch>& changes) {
  std::string text;
  for (const MemorySwitch& change : changes)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", change.what);
  return text;
}

std::string advice(const std::vector<MemorySwitch>& changes) {
  std::string text;
  for (const MemorySwitch& change : changes)
    text += fmt::format("{}{}", text.empty() ? "" : " ", change.advice());
  return text;
}

namespace {

using monitor::format_bytes;

bool lacks_host(const MemoryPlan& plan, const SplitBytes& total) {
  return !plan.device_limit || total.host > plan.host_limit.bytes;
}

SplitBytes total_of(const PlannedStage& stage) {
  return {.host = stage.host.total(), .device = stage.device.total()};
}

std::string more_is_needed(const MemoryPlan& plan, const PlannedStage& stage,
                           const SwitchSearch& search) {
  const std::string least =
      fmt::format("a batch of {}{}{}", least_rows(stage), search.of_least.empty() ? "" : " with ",
                  to_text(search.of_least));
  if (!search.least)
    return fmt::format("{} is needed; how much could not be measured, not even of {}",
                       lacks_host(plan, total_of(stage)) ? "more memory" : "a larger card", least);
  const std::string needed =
      lacks_host(plan, *search.least)
          ? "more memory is needed, " + format_bytes(search.least->host)
          : "a larger card is needed, with " + format_bytes(search.least->device) + " free";
  return fmt::format("{} at least: even {} takes that", needed, least);
}

}  // namespace

std::string fits_with(const MemoryPlan& plan, const PlannedStage& stage,
                      const std::string& change) {
  return fmt::format("{} is not needed, the nearest change that fits: {}",
                     lacks_host(plan, total_of(stage)) ? "more memory" : "a larger card", change);
}

std::string memory_verdict(const MemoryPlan& plan, const PlannedStage& stage,
                           const SwitchSearch& search) {
  if (!search.found)
    return more_is_needed(plan, stage, search) +
           "; raise the limit where there is more, or take a smaller network or smaller inputs";
  const auto& [changes, rows] = *search.found;
  return fits_with(plan, stage,
                   advice(changes) + (rows.needed() ? ", with " + to_text(plan, stage, rows) : ""));
}

}  // namespace headrace::inline v1::app
