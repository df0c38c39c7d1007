#include <headrace/apps/config/units.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/live_block.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/watch/findings.h>
#include <headrace/apps/watch/watch_plot.h>
#include <headrace/apps/watch/watch_target.h>
#include <headrace/apps/watch/watch_text.h>
#include <headrace/monitor/system/system_json.h>
#include <headrace/monitor/system/system_watch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

struct MonitorOptions {
  std::filesystem::path run{};
  int pid = 0;
  double interval_s = 1.0;
  double duration_s = 0.0;  // 0: until it is stopped, or the process ends.
  std::filesystem::path output{};
  std::filesystem::path plot{};
};

// Of a core: somebody asked for this watch, so it may look closer than one inside a training.
constexpr double most_share = 0.004;

void add_duration(CLI::App& line, const std::string& name, double& seconds,
                  const std::string& help) {
  const auto read = [name, &seconds](const std::string& text) {
    const std::optional<Duration> duration = parse_duration(text);
    if (!duration || !(duration->seconds > 0.0))
      throw CLI::ValidationError(name, "must be a duration such as 500ms, got " + text);
    seconds = duration->seconds;
  };
  line.add_option_function<std::string>(name, read, help);
}

void add(CLI::App& line, MonitorOptions& options) {
  line.add_option("RUN", options.run,
                  "Folder of a run that trains; without it and --pid the machine");
  line.add_option("--pid", options.pid, "Any process, with its descendants: PyTorch's, say")
      ->check(CLI::PositiveNumber);
  add_duration(line, "--interval", options.interval_s, "Between two samples; else 1s");
  add_duration(line, "--duration", options.duration_s,
               "How long; else until Ctrl-C, or until the process ends");
  line.add_option("--output", options.output,
                  "Write each sample to this file, a JSON object a line");
  line.add_option("--plot", options.plot, "Draw CPU, memory and GPU over time to this file (PNG)");
}

/// Takes what the watch's thread samples, and shows it.
class Watching {
 public:
  Watching(WatchTarget target, const MonitorOptions& options) : target_(std::move(target)) {
    if (!options.output.empty()) output_.emplace(options.output);
  }

  void take(const monitor::SystemSample& sample) {
    const std::lock_guard lock(mutex_);
    findings_.add(sample);
    if (output_ && !failure_) write(sample);
    if (target_.has_process() && !sample.tree.lives) ended_ = true;
    if (block_.due())
      block_.update(watch_lines(target_, findings_, text_columns(STDERR_FILENO) - 1),
                    "monitor: " + watch_line(target_, findings_));
    if (ended_ || failure_) wake_.notify_all();
  }

  /// Until the process ends, the time is up, a file cannot be written, or somebody stops it.
  void wait(const std::stop_token& stop, double duration_s) {
    std::unique_lock lock(mutex_);
    const auto over = [this] { return ended_ || failure_ != nullptr; };
    if (duration_s > 0.0)
      wake_.wait_for(lock, stop, std::chrono::duration<double>(duration_s), over);
    else
      wake_.wait(lock, stop, over);
  }

  void end() { block_.clear(); }
  const WatchFindings& findings() const { return findings_; }
  bool ended() const { return ended_; }
  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void write(const monitor::SystemSample& sample) {
    try {
      output_->write_json(monitor::system_line(sample));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  WatchTarget target_;
  std::optional<JsonLinesWriter> output_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  LiveBlock block_;
  WatchFindings findings_;
  bool ended_ = false;
  std::exception_ptr failure_;
};

std::chrono::milliseconds period_of(const MonitorOptions& options) {
  return std::chrono::milliseconds(
      std::max<std::int64_t>(1, std::llround(options.interval_s * 1000.0)));
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void write_plot(const MonitorOptions& options, const ResultFile& plot, const WatchTarget& target,
                const WatchFindings& findings) {
  if (options.plot.empty()) return;
  const auto png = watch_png(target.words, findings);
  if (png.empty()) {
    print("\nno picture: it needs two seconds\n");
    return;
  }
  plot.write(png);
  print(fmt::format("\n{}: CPU, memory and GPU over time\n", options.plot.string()));
}

ExitCode run(const MonitorOptions& options, const CommandCall&) {
  const WatchTarget target = watch_target(options.run, options.pid);
  const ResultFile plot(options.plot, "[monitor] --plot", {options.output});
  StopSignals signals;
  Watching watching(target, options);
  double own_cpu_s = 0.0;
  {
    monitor::SystemWatch watch(
        {.sampler = {.pid = target.pid},
         .period = period_of(options),
         .most_share = most_share,
         .on_sample = [&](const monitor::SystemSample& sample) { watching.take(sample); }});
    fmt::print(stderr, "monitor: watching {}; Ctrl-C ends\n", target.words);
    watching.wait(signals.token(), options.duration_s);
    own_cpu_s = watch.cpu_seconds();
  }
  watching.end();
  print(watch_report(target, watching.findings(), own_cpu_s, text_columns(STDOUT_FILENO)));
  if (watching.ended()) print(fmt::format("\n{} has ended\n", target.words));
  write_plot(options, plot, target, watching.findings());
  watching.throw_failure();
  // Ctrl-C is how a watch ends: nothing was broken off.
  return signals.received() == SIGINT ? ExitCode::done : signals.exit_code();
}

}  // namespace

// Looks at a process, a run or the machine from outside. A process that is not there is
// ExitCode::configuration; one that ends while it is watched ends the watch, with ExitCode::done.
Command monitor_command() {
  return make_command<MonitorOptions>(
      "monitor", "Watch CPU, memory, storage and GPU of any training, or of the machine", add, run);
}

}  // namespace headrace::inline v1::app
