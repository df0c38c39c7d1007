#include <headrace/apps/report/write_report.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/engine/base/error.h>

#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct ReportOptions {
  std::filesystem::path run{};
  std::filesystem::path output{};  // Empty: report.html in the run's folder.
};

void add(CLI::App& line, ReportOptions& options) {
  line.add_option("RUN", options.run, "Folder of a run, which may still be at work")->required();
  line.add_option("--output", options.output, "File to write; else report.html in the folder");
}

ExitCode run(const ReportOptions& options, const CommandCall& call) {
  if (!options.output.empty()) {
    const ResultFile output(options.output, "[report] --output", {});
    output.write(report_page(options.run, call.jobs));
    fmt::print("{}\n", options.output.string());
    return ExitCode::done;
  }
  try {
    write_report(options.run, call.jobs);
  } catch (const ResourceError& error) {
    throw ResourceError(fmt::format("{}; --output names another file to write to", error.what()));
  }
  fmt::print("{}\n", (options.run / "report.html").string());
  return ExitCode::done;
}

}  // namespace

Command report_command() {
  return make_command<ReportOptions>(
      "report", "Draw a run as one HTML file: curves, time, memory, machine, advice", add, run);
}

}  // namespace headrace::inline v1::app
