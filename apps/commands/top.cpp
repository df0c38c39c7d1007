#include <headrace/apps/commands/command_table.h>
#include <headrace/apps/commands/run_glance_text.h>
#include <headrace/apps/config/units.h>
#include <headrace/apps/terminal/live_block.h>
#include <headrace/apps/terminal/terminal_mode.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/ioctl.h>
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

// A block must leave a row for the cursor.
std::size_t most_lines() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2) return 20;
  return std::min<std::size_t>(20, size.ws_row - 1U);
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
  for (;; glance = read_run_glance(options.run)) {
    std::vector<std::string> lines = glance_lines(glance, terminal_columns(STDOUT_FILENO) - 1);
    if (lines.size() > most_lines()) lines.resize(most_lines());
    block.update(lines, glance_line(glance));
    if (!may_go_on(glance)) return ExitCode::done;
    std::this_thread::sleep_for(interval);
  }
}

}  // namespace

// Shows a training from its folder and /proc alone; ends with the run.
Command top_command() {
  return make_command("top", "Show a running training: place, figures, budget, machine, verdict",
                      add, run);
}

}  // namespace headrace::inline v1::app
