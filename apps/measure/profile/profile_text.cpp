#include <headrace/apps/measure/memory_switches.h>
#include <headrace/apps/measure/profile/profile_memory.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_rate;
using monitor::MemoryLimit;

// What the compute device holds, and what it may.
std::uint64_t of_device(const MemoryPlan& plan, const SplitBytes& total) {
  return plan.device_limit ? total.device : total.host;
}
const MemoryLimit& limit_of(const MemoryPlan& plan) {
  return plan.device_limit ? *plan.device_limit : plan.host_limit;
}

std::string signed_bytes(std::uint64_t now, std::uint64_t then) {
  return (then > now ? "+" : "-") + format_bytes(then > now ? then - now : now - then);
}

double rows_per_second(const MeasuredPoint& point) {
  return point.step_s > 0.0 ? static_cast<double>(point.rows) / point.step_s : 0.0;
}

std::string curve_text(const MemoryPlan& plan, const StageProfile& profile) {
  const MeasuredStage& measured = profile.stage.measured;
  const monitor::MemoryLine line = measured.training();
  std::string text =
      fmt::format("  tensors of a step: {} + {} x rows (to {:.1f} %)\n", format_bytes(line.at(0)),
                  format_bytes(static_cast<std::uint64_t>(line.per_row())), 100.0 * line.misfit());
  text += fmt::format("  {:>8}  {:>10}  {:>10}  {:>10}  {:>10}\n", "rows", "step", "evaluation",
                      "in all", "rows/s");
  std::vector<MeasuredPoint> points = measured.points;
  std::ranges::sort(points, {}, &MeasuredPoint::rows);
  for (const MeasuredPoint& point : points) {
    const SplitBytes total =
        total_with(plan, profile.stage, measured, point.rows, point.evaluation_rows);
    text += fmt::format("  {:>8}  {:>10}  {:>10}  {:>10}  {:>10}\n", point.rows,
                        format_bytes(point.training),
                        point.evaluation > 0 ? format_bytes(point.evaluation) : "-",
                        format_bytes(of_device(plan, total)), format_rate(rows_per_second(point)));
  }
  if (!measured.ended.empty()) text += "  " + measured.ended + '\n';
  return text;
}

// A stage at its batch. Of tensors alone: what the heap keeps beside them is no switch's.
std::uint64_t bytes_of_switch(const PlannedStage& stage, const MeasuredStage& measured) {
  return measured.tensors(stage.batch, stage.evaluation_batch) + measured.checkpoint;
}

// Time of a step beside the stage's as it is configured.
double slowdown(const PlannedStage& stage, const MeasuredStage& measured) {
  const auto of_most_rows = [](const MeasuredStage& one) {
    return std::ranges::max_element(one.points, {}, &MeasuredPoint::rows)->step_s;
  };
  return of_most_rows(measured) / of_most_rows(stage.measured);
}

std::string switch_text(const StageProfile& profile, const SwitchedStage& one) {
  if (!one.failed.empty())
    return fmt::format("  {:<28}  not possible: {}\n", one.change.what, one.failed);
  const PlannedStage& stage = profile.stage;
  return fmt::format(
      "  {:<28}  {:>10}  step {:+.0f} %  {}\n", one.change.what,
      signed_bytes(bytes_of_switch(stage, stage.measured), bytes_of_switch(stage, one.measured)),
      100.0 * (slowdown(stage, one.measured) - 1.0), one.change.advice());
}

std::string tried_text(const MemoryPlan& plan, const char* what, const TriedBatch& tried) {
  if (!tried.ended.empty())
    return fmt::format("  {}: {} rows: {}\n", what, tried.rows, tried.ended);
  return fmt::format("  {}: {} rows: {} in {} steps, {} rows/s{}\n", what, tried.rows,
                     format_bytes(of_device(plan, tried.total)), tried.steps,
                     format_rate(tried.rows_per_second), tried.fits ? "" : ", too much");
}

struct Verdict {
  std::string words;
  std::string settings;  // to copy; empty: none
};

std::string settings_of(const StageChange& change) {
  std::string settings;
  const auto add = [&settings](const char* key, std::int64_t value) {
    if (value > 0)
      settings += fmt::format("{}--set training.{}={}", settings.empty() ? "" : " ", key, value);
  };
  add("batch", change.batch);
  add("accumulation", change.accumulation);
  add("evaluation_batch", change.evaluation_batch);
  return settings;
}

// Nothing where a switch is set in a stage of a list.
std::string settings_of(const SwitchesThatFit& found) {
  std::string settings;
  for (const MemorySwitch& change : found.changes) {
    if (change.of_stages) return {};
    settings += fmt::format("--set \"{}\" ", change.setting());
  }
  return settings + settings_of(found.rows);
}

// An evaluation that was tried with fewer rows fits with those.
StageChange change_of(const PlannedStage& stage, const TriedBatch& tried) {
  const bool fewer = tried.evaluation_rows < stage.evaluation_batch;
  return {.batch = tried.rows, .evaluation_batch = fewer ? tried.evaluation_rows : 0};
}

// Of a stage none of whose sizes could be measured.
Verdict unmeasured_verdict(const MemoryPlan& plan, const PlannedStage& stage) {
  const std::uint64_t counted =
      of_device(plan, {.host = stage.host.total(), .device = stage.device.total()});
  const std::uint64_t limit = limit_of(plan).bytes;
  const std::string place = fmt::format("{} ({})", format_bytes(limit), limit_of(plan).source);
  const std::string& ended = stage.measured.ended;
  const std::string why = ended.empty() ? plan.unmeasured : ended;
  if (counted > limit)
    return {fmt::format("{} is not enough, by {} and what activations take", place,
                        format_bytes(counted - limit)),
            {}};
  return {fmt::format("not known: what activations take could not be measured: {}", why), {}};
}

Verdict verdict_alone(const MemoryPlan& plan, const StageProfile& profile) {
  const PlannedStage& stage = profile.stage;
  if (stage.measured.points.empty()) return unmeasured_verdict(plan, stage);
  const SplitBytes total{.host = stage.host.total(), .device = stage.device.total()};
  const std::string place =
      fmt::format("{} ({})", format_bytes(limit_of(plan).bytes), limit_of(plan).source);
  if (profile.largest && profile.largest->rows != stage.batch)
    return {fmt::format("{} is enough for a batch of {}", place, profile.largest->rows),
            settings_of(change_of(stage, *profile.largest))};
  if (fits(plan, stage))
    return {fmt::format("{} is enough: batch {} as configured takes {}", place, stage.batch,
                        format_bytes(of_device(plan, total))),
            {}};
  if (const auto change = change_to_fit(plan, stage))
    return {fmt::format("{} is enough: {}", place, to_text(plan, stage, *change)),
            settings_of(*change)};
  if (profile.search && profile.search->found) {
    const SwitchesThatFit& found = *profile.search->found;
    const std::string rows = found.rows.needed() ? ", " + to_text(plan, stage, found.rows) : "";
    return {fmt::format("{} is enough: {}{}", place, to_text(found.changes), rows),
            settings_of(found)};
  }
  const std::uint64_t needed =
      of_device(plan, total_with(plan, stage, stage.measured, least_rows(stage),
                                 stage.evaluation_batch > 0 ? 1 : 0));
  const std::uint64_t limit = limit_of(plan).bytes;
  std::string words =
      fmt::format("{} is not enough, by {}", place, format_bytes(needed - std::min(needed, limit)));
  if (profile.search) words += "; " + memory_verdict(plan, stage, *profile.search);
  return {words, {}};
}

// What is set for a stage of a list stands in the file, below training.stages.
Verdict verdict_of(const MemoryPlan& plan, const StageProfile& profile) {
  Verdict verdict = verdict_alone(plan, profile);
  if (plan.stages_are_listed && !verdict.settings.empty()) {
    verdict.words += "; to be set in training.stages, stage " + profile.stage.name;
    verdict.settings.clear();
  }
  return verdict;
}

nlohmann::json json_of(const MemoryPlan& plan, const TriedBatch& tried) {
  return {{"rows", tried.rows}, {"steps", tried.steps}, {"bytes", of_device(plan, tried.total)},
          {"fits", tried.fits}, {"ended", tried.ended}, {"rows_per_s", tried.rows_per_second}};
}

nlohmann::json json_of(const PlannedStage& stage, const SwitchedStage& one) {
  nlohmann::json json{{"what", one.change.what}, {"setting", one.change.setting()}};
  if (!one.failed.empty()) {
    json["failed"] = one.failed;
    return json;
  }
  json["bytes"] = bytes_of_switch(stage, one.measured);
  json["bytes_without"] = bytes_of_switch(stage, stage.measured);
  json["step"] = slowdown(stage, one.measured);
  return json;
}

}  // namespace

std::string profile_text(const MemoryPlan& plan, const StageProfile& profile) {
  const PlannedStage& stage = profile.stage;
  MemoryPlan alone = plan;
  alone.stages = {stage};
  std::string text =
      fmt::format("stage {}, batch {} x {}\n", stage.name, stage.batch, stage.accumulation) +
      alone.table();
  if (!stage.measured.points.empty()) text += "what a batch takes\n" + curve_text(plan, profile);
  if (profile.most_rows)
    text += fmt::format("  by that line {} rows fit {}\n", *profile.most_rows,
                        format_bytes(limit_of(plan).bytes));
  if (profile.largest) text += tried_text(plan, "largest", *profile.largest);
  if (profile.next) text += tried_text(plan, "the next size", *profile.next);
  if (profile.fastest) text += tried_text(plan, "fastest", *profile.fastest);
  if (!profile.switches.empty()) text += "what a switch would change\n";
  for (const SwitchedStage& one : profile.switches)
    text += switch_text(profile, one);
  const Verdict verdict = verdict_of(plan, profile);
  text += "verdict: " + verdict.words + '\n';
  if (!verdict.settings.empty()) text += "to have it: " + verdict.settings + '\n';
  return text;
}

std::string profile_json(const MemoryPlan& plan, const std::vector<StageProfile>& profiles) {
  nlohmann::json stages = nlohmann::json::array();
  for (const StageProfile& profile : profiles) {
    nlohmann::json parts;
    const bool on_device = plan.device_limit.has_value();
    for (const auto& item : profile.stage.host.items())
      parts["host"][item.name] = item.bytes;
    if (on_device)
      for (const auto& item : profile.stage.device.items())
        parts["device"][item.name] = item.bytes;
    nlohmann::json one{{"name", profile.stage.name},
                       {"batch", profile.stage.batch},
                       {"accumulation", profile.stage.accumulation},
                       {"evaluation_batch", profile.stage.evaluation_batch},
                       {"host_bytes", profile.stage.host.total()},
                       {"device_bytes", profile.stage.device.total()},
                       {"parts", std::move(parts)},
                       {"verdict", verdict_of(plan, profile).words},
                       {"settings", verdict_of(plan, profile).settings}};
    if (!profile.stage.measured.points.empty()) {
      const monitor::MemoryLine line = profile.stage.measured.training();
      one["line"] = {
          {"base_bytes", line.base()}, {"row_bytes", line.per_row()}, {"misfit", line.misfit()}};
    }
    one["measured"] =
        nlohmann::json::parse(to_json(MeasuredMemory{.stages = {profile.stage.measured}}))
            .at("stages")
            .at(0);
    if (profile.most_rows) one["most_rows"] = *profile.most_rows;
    if (profile.largest) one["largest"] = json_of(plan, *profile.largest);
    if (profile.next) one["next"] = json_of(plan, *profile.next);
    if (profile.fastest) one["fastest"] = json_of(plan, *profile.fastest);
    one["switches"] = nlohmann::json::array();
    for (const SwitchedStage& change : profile.switches)
      one["switches"].push_back(json_of(profile.stage, change));
    stages.push_back(std::move(one));
  }
  return nlohmann::json{{"limit_bytes", limit_of(plan).bytes},
                        {"limit_by", limit_of(plan).source},
                        {"stages", std::move(stages)}}
             .dump(2) +
         '\n';
}

}  // namespace headrace::inline v1::app
