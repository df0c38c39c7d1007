#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/measure/data_pages.h>
#include <headrace/apps/measure/measure_pace.h>
#include <headrace/apps/measure/plan_run.h>
#include <headrace/apps/run/own_child.h>
#include <headrace/apps/view/device_remarks.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/memory/memory_forecast.h>
#include <headrace/monitor/step_clock.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <opencv2/core/utility.hpp>

#include <sched.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

// Until the window has enough, or `most` batches were taken; `between` epochs time stands still.
void take_batches(Loader& loader, PaceWindow& window, std::int64_t most, double step_s,
                  const std::function<void()>& between) {
  monitor::StepClock clock;
  for (std::int64_t taken = 0; taken < most;) {
    clock.enter(monitor::StepPart::data_wait);
    const NextBatch next = loader.next();
    if (next.status != NextBatch::Status::ready) {
      between();
      clock.restart();
      continue;
    }
    ++taken;
    clock.enter(monitor::StepPart::compute);
    if (step_s > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(step_s));
    clock.enter(monitor::StepPart::other);
    if (window.add(clock.end_step(), next.batch.size())) return;
  }
}

}  // namespace

PaceResult pace_of_loader(const LoaderJob& job, const PaceOptions& options) {
  PaceResult result{.input = options.input};
  const auto start = std::chrono::steady_clock::now();
  Loader loader = job.build();
  result.open_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.before_reading) options.before_reading();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t warmup = job.options.prefetch + 1;
  if (reads_twice(options)) {
    const Position first = loader.position();
    most = warm_up(loader, options, options.least_steps + warmup).value_or(most);
    loader.seek(first);
  }
  between_epochs(options);
  PaceWindow window(options, static_cast<std::size_t>(warmup), false);
  window.watch(&loader);
  take_batches(loader, window, most, job.consumer_delay_s, [&] { between_epochs(options); });
  window.finish(result);
  return result;
}

namespace {

using Clock = std::chrono::steady_clock;

// While it lives, processes that this thread starts may use so many of the cores that it has.
class CoreLimit {
 public:
  explicit CoreLimit(int cores) {
    if (cores <= 0 || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < cores; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &few);
    limited_ = ::sched_setaffinity(0, sizeof few, &few) == 0;
  }
  CoreLimit(const CoreLimit&) = delete;
  CoreLimit& operator=(const CoreLimit&) = delete;
  ~CoreLimit() {
    if (limited_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool limited_ = false;
};

std::vector<std::string> words_of(const PaceQuestion& question, const SharedText& asked,
                                  const SharedText& answer) {
  return {this_program_path(),
          pace_command,
          asked.path(),
          "--trial",
          answer.path(),
          "--input",
          std::string(to_string(question.input)),
          "--trial-seconds",
          fmt::format("{}", question.seconds),
          "--trial-steps",
          std::to_string(question.steps),
          "--trial-memory",
          std::to_string(question.memory),
          "--trial-parent",
          std::to_string(::getpid())};
}

bool is_loader(const Node& document) {
  const Entry* kind = document.find("kind");
  return kind != nullptr && kind->value.text == "loader";
}

// Trials of one configuration in this process.
class Trial {
 public:
  Trial(std::filesystem::path config, const PaceQuestion& question, const CommandCall& call)
      : config_(std::move(config)),
        question_(question),
        call_(call),
        document_(read_document(config_)) {}

  PaceResult run() {
    cv::setNumThreads(0);
    drop();  // heads of files are read as cold as records
    PaceResult result = is_loader(document_) ? of_loader() : of_training();
    result.cold = dropped_.cold;
    result.storage = dropped_.how;
    return result;
  }

 private:
  void drop() {
    if (question_.input != PaceInput::storage) return;
    if (!files_) files_ = find_data_files(document_);
    dropped_ = drop_pages(*files_);
  }

  PaceOptions options() {
    return {.input = question_.input,
            .seconds = question_.seconds,
            .least_steps = question_.steps,
            .before_reading = [this] { drop(); }};
  }

  void require(const monitor::MemoryForecast& forecast, monitor::MemoryLimit limit) const {
    if (question_.memory > 0 && question_.memory < limit.bytes)
      limit = {.bytes = question_.memory, .source = "--memory"};
    forecast.require(limit);
  }

  PaceResult of_loader() {
    const BenchJob job = read_bench_job(call_.jobs, config_, {});
    const monitor::MemoryForecast forecast = job.loader.forecast();
    require(forecast, monitor::tightest_memory_limit(job.memory));
    PaceResult result = pace_of_loader(job.loader, options());
    result.forecast = forecast.total();
    return result;
  }

  PaceResult of_training() {
    TrainingBackend& backend = *call_.backend;
    const TrainingJob job = read_training_job(call_.jobs, config_, {});
    prepare_environment(*job.config);
    const int threads = job.config->threads.torch;
    backend.set_threads(threads > 0 ? threads : headrace::usable_cores());
    const ChosenDevice device = backend.choose_device(job.config->device);
    const auto run = backend.make_run(job, device);
    const MemoryPlan plan = run->plan({});
    require(plan.stages.front().host, host_limit(job.config->memory.limit));
    const Clock::time_point start = Clock::now();
    run->open();
    const double open_s = std::chrono::duration<double>(Clock::now() - start).count();
    PaceResult result = run->pace(options());
    result.open_s = open_s;
    result.forecast = plan.stages.front().host.total();
    return result;
  }

  std::filesystem::path config_;
  const PaceQuestion& question_;
  const CommandCall& call_;
  Node document_;
  std::optional<DataFiles> files_;
  DroppedPages dropped_;
};

}  // namespace

PaceResult pace_apart(const std::string& yaml, const PaceQuestion& question,
                      const std::stop_token& stop) {
  const SharedText asked("headrace-job");
  const SharedText answer("headrace-pace");
  std::ofstream(asked.path()) << yaml;
  const CoreLimit limit(question.cores);
  const ChildResult child = run_child(words_of(question, asked, answer), {}, stop);
  if (child.status == 0) return parse_pace_result(read_whole_text(answer.path(), "pace"));
  const auto is = [&](ExitCode code) { return child.status == static_cast<int>(code); };
  return {.input = question.input,
          .failed = "the trial " + ending_of(child),
          .without_resources = is(ExitCode::resources) || child.status == killed_status,
          .refused = is(ExitCode::configuration),
          .stopped = child.status == killed_status && stop.stop_requested(),
          .ended_with = child.status == killed_status ? ExitCode::resources
                                                      : static_cast<ExitCode>(child.status)};
}

ExitCode pace_here(const std::filesystem::path& config, const PaceQuestion& question,
                   const CommandCall& call) {
  end_with(question.parent);  // nobody waits for what a parent that ended has asked for
  std::ofstream(question.answer) << to_json(Trial(config, question, call).run());
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
