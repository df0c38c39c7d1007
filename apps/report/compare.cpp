#include <headrace/apps/report/compare_runs.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/terminal/terminal_mode.h>

#include <filesystem>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

struct CompareOptions {
  std::vector<std::filesystem::path> runs{};
  std::filesystem::path json{};
  std::filesystem::path output{};
};

void add(CLI::App& line, CompareOptions& options) {
  line.add_option("RUN", options.runs, "Folders of runs; the others are compared with the first")
      ->required()
      ->expected(2, 100);
  line.add_option("--json", options.json, "Write everything found to this file");
  line.add_option("--output", options.output, "Write one HTML file, with the runs' curves, too");
}

ExitCode run(const CompareOptions& options, const CommandCall&) {
  const ResultFile json(options.json, "[compare] --json", {});
  const ResultFile output(options.output, "[compare] --output", {options.json});
  const Comparison comparison = compare_runs(options.runs);
  fmt::print("{}", to_text(comparison, text_columns(STDOUT_FILENO)));
  if (!options.json.empty()) json.write(to_json(comparison));
  if (!options.output.empty()) output.write(to_page(comparison));
  return ExitCode::done;
}

}  // namespace

Command compare_command() {
  return make_command<CompareOptions>(
      "compare", "Say what differs between runs: configuration, machine, figures and their noise",
      add, run);
}

}  // namespace headrace::inline v1::app
