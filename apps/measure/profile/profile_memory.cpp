#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/measure/fitted_job.h>
#include <headrace/apps/measure/memory_switches.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/apps/measure/profile/profile_memory.h>
#include <headrace/apps/memory/memory_owners.h>
#include <headrace/apps/run/own_child.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/view/device_remarks.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

TrainingJob read_job(const ProfileMemoryOptions& options, const std::vector<Job>& jobs) {
  std::vector<std::string> settings = settings_with_preset(
      options.preset, options.settings, [&](const std::vector<std::string>& all) {
        return read_training_job(jobs, options.config, all).yaml;
      });
  if (options.member) settings.push_back(fmt::format("training.member={}", *options.member));
  TrainingJob job = read_training_job(jobs, options.config, settings);
  if (options.batch == 0) return job;
  // Of stages that have a batch of their own, too.
  const auto yaml = yaml_with(job, "training.batch", std::to_string(options.batch));
  return yaml ? read_training_text(jobs, *yaml, options.config.string()) : job;
}

// In this process, which another one of this program has started for it.
ExitCode measure_here(const ProfileMemoryOptions& options, const TrainingJob& job,
                      const ChosenDevice& device, TrainingBackend& backend) {
  const auto run = backend.make_run(job, device);
  backend.limit_memory(device.device, options.limit);
  std::ofstream(options.measure) << to_json(run->measure({.stage = options.stage,
                                                          .rows = options.rows,
                                                          .limit = options.limit,
                                                          .steps = options.steps}));
  return ExitCode::done;
}

// On a machine without a GPU: its tensors, and what its kernels take, as if they were a card's.
void pretend_card(MemoryPlan& plan) {
  for (PlannedStage& stage : plan.stages) {
    monitor::MemoryForecast of_host;
    for (const monitor::ForecastItem& item : stage.host.items()) {
      if (is_of_tensors(item.name))
        stage.device.add(item.name, item.bytes, item.how);
      else
        of_host.add(item.name, item.bytes, item.how);
    }
    stage.host = of_host;
  }
}

void put_on_card(MemoryPlan& plan, std::uint64_t card) {
  constexpr double usable = 0.95;  // the rest is the driver's, and others'
  if (!plan.device_limit) pretend_card(plan);
  plan.device_limit = {.bytes = static_cast<std::uint64_t>(usable * static_cast<double>(card)),
                       .source = fmt::format("95 % of a card of {}", monitor::format_bytes(card))};
}

class Profiler {
 public:
  Profiler(const ProfileMemoryOptions& options, const CommandCall& call, TrainingJob job,
           const MemoryPlan& plan)
      : options_(options), jobs_(call.jobs), job_(std::move(job)), plan_(plan) {}

  StageProfile profile(const PlannedStage& stage) const {
    StageProfile profile{.stage = stage};
    if (stage.measured.points.empty()) return profile;
    profile.most_rows = most_rows(stage);
    const auto switches = options_.switches ? switches_of(job_) : std::vector<MemorySwitch>{};
    for (const MemorySwitch& change : switches)
      profile.switches.push_back(measure_switch(call_of(stage, {stage.batch}), change));
    if (!profile.most_rows)
      profile.search = switches_to_fit(call_of(stage, {}), plan_, stage);
    else if (options_.find_optimal)
      find_optimal(profile);
    return profile;
  }

 private:
  SwitchCall call_of(const PlannedStage& stage, std::vector<std::int64_t> rows) const {
    return {.job = job_,
            .jobs = jobs_,
            .stage = stage.name,
            .options = {.rows = std::move(rows), .limit = room_for_tensors(plan_)},
            .member = options_.member};
  }

  bool fits_by_line(const PlannedStage& stage, std::int64_t rows) const {
    return fits(plan_,
                total_with(plan_, stage, stage.measured, rows, evaluation_rows(stage, rows)));
  }

  // No more than there are records.
  std::optional<std::int64_t> most_rows(const PlannedStage& stage) const {
    std::int64_t good = 0;
    const std::int64_t exceeded = stage.measured.exceeded_rows;
    std::int64_t bad = std::max(stage.records, stage.batch) + 1;
    if (exceeded > 0) bad = std::min(bad, exceeded);
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits_by_line(stage, middle) ? good : bad) = middle;
    }
    return good > 0 ? std::optional(good) : std::nullopt;
  }

  TriedBatch try_rows(const PlannedStage& stage, std::int64_t rows, std::int64_t steps) const {
    fmt::print(stderr, "stage {}: {} steps of {} rows\n", stage.name, steps, rows);
    MeasureOptions options{
        .stage = stage.name, .rows = {rows}, .limit = room_for_tensors(plan_), .steps = steps};
    const MeasuredMemory measured = measure_apart(job_, options, options_.member);
    TriedBatch tried{.rows = rows, .steps = steps};
    if (measured.stages.empty() || measured.stages.front().points.empty()) {
      tried.ended = measured.stages.empty() ? measured.failed : measured.stages.front().ended;
      return tried;
    }
    const MeasuredPoint& point = measured.stages.front().points.front();
    tried.steps = point.steps;
    tried.evaluation_rows = point.evaluation_rows;
    tried.total = total_with(plan_, stage, measured.stages.front(), rows, point.evaluation_rows);
    tried.fits = fits(plan_, tried.total);
    tried.rows_per_second = static_cast<double>(rows) / point.step_s;
    return tried;
  }

  // Sizes are eighths of powers of two: a step up is more than the noise of a measurement.
  static std::int64_t unit(std::int64_t rows) {
    return std::max<std::int64_t>(
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows))) / 8, 1);
  }

  void find_optimal(StageProfile& profile) const {
    const PlannedStage& stage = profile.stage;
    std::int64_t rows = *profile.most_rows / unit(*profile.most_rows) * unit(*profile.most_rows);
    TriedBatch tried = try_rows(stage, rows, confirming_steps);
    while (!tried.fits && rows > 1) {
      profile.next = tried;
      rows -= unit(rows - 1);
      tried = try_rows(stage, rows, confirming_steps);
    }
    if (!tried.fits) return;
    while (!profile.next && rows + unit(rows) <= stage.records) {
      const TriedBatch above = try_rows(stage, rows + unit(rows), confirming_steps);
      (above.fits ? tried : profile.next.emplace()) = above;
      if (above.fits) rows += unit(rows);
    }
    profile.largest = tried;
    profile.fastest = tried;
    for (const MeasuredPoint& point : stage.measured.points) {
      const double rate = static_cast<double>(point.rows) / point.step_s;
      if (rate <= profile.fastest->rows_per_second || !fits_by_line(stage, point.rows)) continue;
      profile.fastest = TriedBatch{
          .rows = point.rows,
          .evaluation_rows = point.evaluation_rows,
          .steps = MeasureOptions{}.steps,
          .total = total_with(plan_, stage, stage.measured, point.rows, point.evaluation_rows),
          .fits = true,
          .rows_per_second = rate};
    }
  }

  static constexpr std::int64_t confirming_steps = 50;

  const ProfileMemoryOptions& options_;
  const std::vector<Job>& jobs_;
  TrainingJob job_;
  const MemoryPlan& plan_;
};

// By its name, or its number from 1.
std::vector<PlannedStage> wanted_stages(const MemoryPlan& plan, const std::string& name) {
  if (name.empty()) return plan.stages;
  std::string names;
  for (const PlannedStage& stage : plan.stages) {
    if (stage.name == name) return {stage};
    names += (names.empty() ? "" : ", ") + stage.name;
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i)
    if (name == std::to_string(i + 1)) return {plan.stages[i]};
  throw ConfigError(
      fmt::format("[profile-memory] --stage must be one of {}, got \"{}\"", names, name));
}

}  // namespace

ExitCode profile_memory(const ProfileMemoryOptions& options, const CommandCall& call) {
  end_with(options.parent);  // nobody waits for what a parent that ended has asked for
  cv::setNumThreads(0);
  const ResultFile json(options.json, "[profile-memory] --json", {options.config});
  TrainingBackend& backend = *call.backend;
  const TrainingJob job = read_job(options, call.jobs);
  prepare_environment(*job.config);
  const int threads = job.config->threads.torch;
  backend.set_threads(threads > 0 ? threads : headrace::usable_cores());
  const ChosenDevice device = backend.choose_device(job.config->device);
  if (!options.measure.empty()) return measure_here(options, job, device, backend);
  MemoryPlan plan =
      plan_run(job, device, backend, {.member = options.member, .require = false}).plan;
  if (options.card) put_on_card(plan, *options.card);
  const Profiler profiler(options, call, job, plan);
  std::vector<StageProfile> profiles;
  for (const PlannedStage& stage : wanted_stages(plan, options.stage)) {
    profiles.push_back(profiler.profile(stage));
    fmt::print("{}", profile_text(plan, profiles.back()));
  }
  if (!options.json.empty()) json.write(profile_json(plan, profiles));
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
