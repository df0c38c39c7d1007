#include <headrace/apps/train/plan_time.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
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
