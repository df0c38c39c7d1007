#include <headrace/apps/config/units.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/live_block.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/watch/run_glance.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

constexpr double least_interval_s = 0.1;

struct TopOptions {
  std::filesystem::path run{};
  double interval_s = 1.0;
  bool once = false;
};

void add(CLI::App& line, TopOptions& options) {
  line.add_option("RUN", options.run, "The folder of a run")->required();
  const auto read_interval = [&options](const std::string& text) {
    const std::optional<Duration> interval = parse_duration(text);
    if (!interval || interval->seconds < least_interval_s)
      throw CLI::ValidationError("--interval", "must be a duration of 100ms or more, got " + text);
    options.interval_s = interval->seconds;
  };
  line.add_option_function<std::string>("--interval", read_interval, "Between two looks: 1s");
  line.add_flag("--once", options.once, "Look once");
}

bool may_go_on(const RunGlance& glance) {
  return glance.end == RunEnd::running || glance.end == RunEnd::elsewhere ||
         glance.end == RunEnd::unknown;
}

void print_block(const RunGlance& glance) {
  const std::size_t columns = text_columns(STDOUT_FILENO);
  for (const std::string& line : glance_lines(glance, columns - 1))
    fmt::print("{}\n", clean_text(line, columns));
}

void wait_for(std::chrono::duration<double> time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
}

ExitCode run(const TopOptions& options, const CommandCall&) {
  RunGlance glance = read_run_glance(options.run);
  if (options.once) {
    print_block(glance);
    return ExitCode::done;
  }
  const auto interval = std::chrono::duration<double>(options.interval_s);
  LiveBlock block({.file_descriptor = STDOUT_FILENO,
                   .mode = terminal_mode(STDOUT_FILENO),
                   .interval = std::chrono::milliseconds(0),
                   .redraw = std::chrono::milliseconds(0),
                   .most_lines = 20});
  const StopSignals signals;
  const std::stop_token stop = signals.token();
  for (;;) {
    // The last drawing takes the terminal's ^C away.
    const bool ends = stop.stop_requested();
    block.update(glance_lines(glance, terminal_columns(STDOUT_FILENO) - 1),
                 ends ? "" : glance_line(glance));
    if (ends || !may_go_on(glance)) break;
    wait_for(interval, stop);
    glance = read_run_glance(options.run);
  }
  // Ctrl-C is how a look ends: nothing was broken off.
  return signals.received() == SIGINT ? ExitCode::done : signals.exit_code();
}

}  // namespace

// Shows a training from its folder and /proc alone; ends with the run.
Command top_command() {
  return make_command<TopOptions>(
      "top", "Show a running training: place, figures, budget, machine, verdict", add, run);
}

}  // namespace headrace::inline v1::app
