#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/figures/results.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/job/run_identity.h>
#include <headrace/apps/measure/measure_memory.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/apps/measure/smoke_report.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/live_signal.h>
#include <headrace/apps/run/memory_guard.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/run/seconds_since.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/train/goal_report.h>
#include <headrace/apps/train/leave_report.h>
#include <headrace/apps/train/memory_relief.h>
#include <headrace/apps/train/plan_training.h>
#include <headrace/apps/train/train.h>
#include <headrace/apps/view/device_remarks.h>
#include <headrace/apps/view/live_run.h>
#include <headrace/apps/view/step_trace.h>
#include <headrace/apps/view/tensorboard_log.h>
#include <headrace/engine/runtime/runtime.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

RunFolder open_folder(const TrainOptions& options, const TrainingJob& job) {
  if (!options.resume.empty()) return RunFolder::open(options.resume);
  const std::string name = RunFolder::dated_name(job.name);
  return RunFolder::create(job.config->runs, options.smoke > 0 ? "smoke-" + name : name);
}

class TrainCommand {
 public:
  TrainCommand(const TrainOptions& options, const CommandCall& call)
      : options_(options),
        arguments_(call.arguments),
        jobs_(call.jobs),
        backend_(*call.backend),
        level_(log_level(options.log_level)),
        job_(read_train_job(options, call.jobs)) {
    if (options.smoke > 0) trial_.emplace(options.smoke);
  }

  ExitCode run() {
    cv::setNumThreads(0);
    const LiveSignal live;  // whoever finds the run folder may send one
    prepare_environment(*job_.config);
    // What sources say before there is a run folder goes to its log when there is one.
    const DataLogGuard early([this](headrace::LogLevel, std::string_view line) {
      fmt::print(stderr, "{}\n", line);
      early_lines_.emplace_back(line);
    });
    backend_.set_threads(torch_threads());
    const ChosenDevice device = backend_.choose_device(job_.config->device);
    const PlannedTraining training =
        plan_training(options_, {arguments_, jobs_, &backend_}, std::move(job_), device);
    job_ = training.job;
    fitted_ = training.fitted;
    const PlannedRun& planned = training.planned;
    const MemoryPlan& plan = planned.plan;
    TrainingRun* const run = planned.run.get();
    if (const PlannedStage* stage = plan.too_large())
      plan.require(way_out(training, *stage, options_, jobs_));
    if (options_.dry_run) {
      fmt::print("{}{}", plan.table(), time_text(plan, run->members().size()));
      return ExitCode::done;
    }
    if (!trial_) return run_in_folder(training, device);
    tried_memory_ = {.forecast = plan.largest().host.total(), .limit = plan.host_limit};
    run->try_out(*trial_);
    const bool runs_are_new = !fs::exists(job_.config->runs);
    const ExitCode code = run_in_folder(training, device);
    if (code == ExitCode::resources) return code;  // what was written may say why
    fs::remove_all(run_folder_);
    if (runs_are_new && fs::is_empty(job_.config->runs)) fs::remove(job_.config->runs);
    return code;
  }

 private:
  int torch_threads() const {
    const int threads = job_.config->threads.torch;
    return threads > 0 ? threads : headrace::usable_cores();
  }

  ExitCode run_in_folder(const PlannedTraining& training, const ChosenDevice& device) {
    const PlannedRun& planned = training.planned;
    const MemoryPlan& plan = planned.plan;
    TrainingRun& run = *planned.run;
    RunFolder folder = open_folder(options_, job_);
    run_folder_ = folder.path();
    folder.write_config(job_.yaml);
    folder.write_command(arguments_);
    if (!planned.measured.stages.empty())
      write_measured_memory(folder.path() / measured_memory_file, planned.measured, job_,
                            planned.key);
    folder.write_environment({{"headrace", HEADRACE_VERSION}, {"LibTorch", backend_.version()}});
    RunView view(
        folder,
        {.on_gpu = device.device.is_cuda(),
         .level = level_,
         .metrics = {.every = job_.config->log_every, .tensorboard = job_.config->tensorboard},
         .advice = adviser_options(
             training,
             {.began = began_, .goes_on = !options_.resume.empty(), .no_gpu = device.no_gpu}),
         .allocator = [&run] { return run.allocator(); }});
    for (const std::string& line : early_lines_)
      view.note(line);
    view.info("run folder " + folder.path().string());
    const auto used = fmt::format("{}; {} threads for LibTorch", device.why, torch_threads());
    view.info("device " + used);
    view.event(options_.resume.empty() ? "start" : "resume",
               {{"device", used}, {"memory", plan.line()}});
    for (const std::string& remark : device_remarks(*job_.config, device.device))
      view.warn(remark);
    view.info(plan.line());
    view.say_limits();
    for (const std::string& line : fitted_)
      view.info(line);
    if (!plan.unmeasured.empty())
      view.warn("[memory] what activations take is not in the plan: " + plan.unmeasured);
    try {
      const ExitCode code = train_members(run, folder, view, plan);
      if (!trial_ &&
          (code == ExitCode::done || code == ExitCode::goals || code == ExitCode::numeric))
        leave_report(run_folder_, jobs_, view);
      return code;
    } catch (const std::exception& error) {
      view.note_error(error.what());
      if (trial_) view.tell("the trial failed; what it wrote is kept: " + run_folder_.string());
      throw;
    }
  }

  // What members are trained in.
  struct Place {
    const RunFolder& folder;
    RunView& view;
    StopSignals& signals;
    MemoryGuard& guard;
  };

  ExitCode train_members(TrainingRun& run, const RunFolder& folder, RunView& view,
                         const MemoryPlan& plan) {
    StopSignals signals;
    MemoryRelief relief = memory_relief(plan, run);
    const LiveDumpParts look{.folder = folder.path(),
                             .live = view.live(),
                             .runtime = run.runtime(),
                             .account = relief.account,
                             .say = [&view](const std::string& line) { view.info(line); }};
    MemoryGuard guard(
        plan.host_limit, signals, [&view](const std::string& line) { view.warn(line); },
        std::move(relief));
    const LiveSignal::Answer live([&look](const std::stop_token& stop) { dump_live(look, stop); });
    if (options_.trace)
      view.live().trace_steps(std::make_unique<StepTrace>(*options_.trace, run.runtime(),
                                                          folder.path() / "trace.json", look.say));
    const Place place{.folder = folder, .view = view, .signals = signals, .guard = guard};
    open_data(run, view);
    std::vector<FoldOutcome> outcomes;
    for (const std::int64_t member : run.members()) {
      const FoldOutcome outcome = train_member(run, member, place);
      if (outcome.interrupted) return stopped(place);
      outcomes.push_back(outcome);
    }
    GoalFacts facts = earlier_goal_facts(run_folder_);  // before result.json is written anew
    const std::optional<TestReview> review = write_figures(run, place);
    if (!review) return stopped(place);
    if (trial_) return say_refused(outcomes, place.view) ? ExitCode::numeric : tell_trial(place);
    tell_figures(results_text(outcomes, review->votes), review->gallery, place);
    if (view.data_wait_share()) facts = goal_facts(run, view, guard.watch(), began_);
    add_figures(facts, outcomes, review->votes);
    const ExitCode code = tell_goals(facts, place);
    outcomes.insert(outcomes.end(), review->votes.begin(), review->votes.end());
    return say_refused(outcomes, place.view) ? ExitCode::numeric : code;
  }

  void open_data(TrainingRun& run, RunView& view) {
    const auto start = Clock::now();
    const std::uint64_t bytes = run.open();
    const double seconds = seconds_since(start);
    view.data_read(bytes, seconds);
    if (trial_) trial_->on_once({.what = "read the data", .seconds = seconds});
  }

  FoldOutcome train_member(TrainingRun& run, std::int64_t member, const Place& place) {
    const fs::path folder = place.folder.checkpoints();
    monitor::MemoryWatch& memory = place.guard.watch();
    const std::stop_token stop = place.signals.token();
    if (!trial_) return run.train(member, folder, place.view, memory, stop);
    for (;;) {
      std::stop_source halfway;
      const std::stop_callback by_person(stop, [halfway]() mutable { halfway.request_stop(); });
      trial_->begin_call(halfway);
      FoldOutcome outcome = run.train(member, folder, place.view, memory, halfway.get_token());
      if (!outcome.interrupted || stop.stop_requested()) return outcome;
      place.view.info("stopped halfway and saved, as by a signal; the trial goes on from there");
      // What --resume would read.
      require_same_run(job_.identity,
                       read_training_job(jobs_, place.folder.path() / "config.yaml", {}).identity);
    }
  }

  // Nothing where a stop was asked for.
  std::optional<TestReview> write_figures(TrainingRun& run, const Place& place) {
    const RunFolder& folder = place.folder;
    // What was trained is written before anything else can fail.
    const std::vector<FoldOutcome> finished = run.finished(folder.checkpoints());
    write_run_result(folder.path(), finished, {});
    write_results(folder.path(), finished, {});
    std::optional<TestReview> review = run.review(folder.checkpoints(), place.signals.token());
    if (!review) return review;
    if (!review->left_out.empty()) place.view.warn(review->left_out);
    write_run_result(folder.path(), finished, review->votes);
    if (!review->votes.empty() || review->gallery.records > 0)
      write_results(folder.path(), finished, *review);
    if (job_.config->tensorboard)
      write_test_events(folder.tensorboard(), finished, *review,
                        [&](const std::string& line) { place.view.warn(line); });
    return review;
  }

  static void tell_figures(const std::string& text, const Gallery& gallery, const Place& place) {
    place.view.note(text);
    fmt::print("{}\n", text);
    const std::string where = fmt::format("figures and curves: results.csv, results.png{} in {}",
                                          gallery.records > 0 ? ", worst mistakes: worst.png" : "",
                                          place.folder.path().string());
    place.view.info(where);
    place.view.event("end", {{"how", "done"}, {"said", where}});
  }

  ExitCode tell_goals(const GoalFacts& facts, const Place& place) const {
    const std::string missed =
        say_goals(judge_goals(job_.config->goals, facts), place.folder.path(), place.view);
    if (!options_.require_goals || missed.empty()) return ExitCode::done;
    place.view.tell(
        fmt::format("the run is saved; it ends with exit code {} for what it missed: {}",
                    to_string(ExitCode::goals), missed));
    return ExitCode::goals;
  }

  ExitCode tell_trial(const Place& place) {
    place.guard.watch().look();
    tried_memory_.peak = place.guard.watch().peak_held();
    const Node& keys = job_.config->smoke;
    fmt::print("{}", smoke_text(*trial_, tried_memory_,
                                keys.entries.empty() ? std::string() : to_flow_yaml(keys)));
    return ExitCode::done;
  }

  ExitCode stopped(const Place& place) const {
    if (trial_) {
      place.view.tell("stopped; of a trial nothing is kept");
    } else {
      std::vector<std::string> words{arguments_.front(), "train", "--resume",
                                     place.folder.path().string()};
      if (options_.member)
        words.insert(words.end(), {"--member", std::to_string(*options_.member)});
      const std::string saved = "stopped and saved; to go on: " + shell_quoted(words);
      place.view.tell(saved);
      place.view.event("end", {{"how", "stopped"}, {"said", saved}});
    }
    if (place.guard.over()) return ExitCode::resources;
    return place.signals.exit_code();
  }

  Clock::time_point began_ = Clock::now();
  const TrainOptions& options_;
  const std::vector<std::string>& arguments_;
  const std::vector<Job>& jobs_;
  TrainingBackend& backend_;
  LogLevel level_;
  TrainingJob job_;
  std::vector<std::string> early_lines_;
  std::vector<std::string> fitted_;  // what was changed, so that stages fit
  std::optional<SmokeTrial> trial_;
  TriedMemory tried_memory_;
  fs::path run_folder_;
};

}  // namespace

ExitCode train(const TrainOptions& options, const CommandCall& call) {
  return TrainCommand(options, call).run();
}

}  // namespace headrace::inline v1::app
