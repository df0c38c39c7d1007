#include <headrace/apps/measure/measure_memory.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

MemoryPlan with_limit(MemoryPlan plan, const TrainingJob& job) {
  plan.host_limit = host_limit(job.config->memory.limit);
  return plan;
}

// For what is counted without a step, with batches as small as can be.
bool has_room(const MemoryPlan& plan) {
  const std::uint64_t room = room_for_tensors(plan);
  return std::ranges::all_of(
      plan.stages, [room](const PlannedStage& stage) { return bytes_of_tensors(stage) <= room; });
}

}  // namespace

PlannedRun plan_run(const TrainingJob& job, const ChosenDevice& device, TrainingBackend& backend,
                    const PlanOptions& options) {
  PlannedRun planned{.run = backend.make_run(job, device)};
  planned.measured.failed =
      job.config->memory.measure ? "there was no room to measure it" : "memory.measure is false";
  planned.plan = with_limit(planned.run->plan(planned.measured), job);
  planned.key = planned.run->memory_key();
  if (planned.key.empty()) planned.plan.unmeasured.clear();
  if (planned.key.empty() || !job.config->memory.measure) return planned;
  planned.key += '\n' + backend.version();
  if (options.require && !has_room(planned.plan))
    planned.plan.require("raise the limit, or hold less of the data in memory");
  const auto kept = read_measured_memory(options.kept, job, planned.key);
  planned.measured =
      kept ? *kept : measure_apart(job, {.limit = room_for_tensors(planned.plan)}, options.member);
  planned.plan = with_limit(planned.run->plan(planned.measured), job);
  if (planned.measured.without_resources && options.require)
    throw ResourceError(
        "[memory] the stages must be measured before the first, got: " + planned.measured.failed +
        "; raise the limit, or set memory.measure to false\n" + planned.plan.table());
  return planned;
}

namespace {

using monitor::format_seconds;

std::int64_t parts_of(std::int64_t all, std::int64_t part) {
  return (all + part - 1) / part;
}

}  // namespace

std::string time_text(const MemoryPlan& plan, std::size_t members) {
  std::string text;
  double all_s = 0.0;
  for (const PlannedStage& stage : plan.stages) {
    const auto& points = stage.measured.points;
    const auto point = std::ranges::find(points, stage.batch, &MeasuredPoint::rows);
    if (point == points.end()) return {};
    const std::int64_t batches = parts_of(stage.records, stage.batch);
    const double epoch_s = static_cast<double>(batches) * point->step_s;
    const double stage_s = static_cast<double>(members * stage.epochs) * epoch_s;
    all_s += stage_s;
    text += fmt::format(
        "  time{}: a step takes about {} (measured), an epoch of {} steps about {}, all {} "
        "epochs{} "
        "at most {}\n",
        plan.stages.size() > 1 ? " of stage " + stage.name : "",
        format_seconds(static_cast<double>(stage.accumulation) * point->step_s),
        parts_of(batches, stage.accumulation), format_seconds(epoch_s), stage.epochs,
        members > 1 ? fmt::format(" of {} members", members) : "", format_seconds(stage_s));
  }
  if (plan.stages.size() > 1)
    text += fmt::format("  time of all stages: at most {}\n", format_seconds(all_s));
  return text + "  not in it: waits for data, evaluations\n";
}

}  // namespace headrace::inline v1::app
