#include <headrace/apps/job/configuration_text.h>
#include <headrace/apps/job/presets.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/terminal/table.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct ConfigOptions {
  std::string kind{};  // Empty: a list of them.
  bool all = false;
};

void add(CLI::App& line, ConfigOptions& options) {
  CLI::Option* kind = line.add_option(
      "KIND", options.kind, "A kind of configuration, or augment, or presets; none: a list");
  line.add_flag("--all", options.all, "All kinds, one after the other")->excludes(kind);
}

std::string list_of_kinds(const std::vector<Job>& jobs) {
  Table table({{.heading = "kind", .align = Align::left}, {.heading = "", .align = Align::left}});
  for (const KindLine& kind : configuration_kinds(jobs))
    table.row({kind.name, kind.help});
  table.row({"augment", "not a kind: the operations of the list augment of all kinds"});
  table.row({"presets", "not a kind: what --preset sets, with the values for this machine"});
  return table.text();
}

ExitCode run(const ConfigOptions& options, const CommandCall& call) {
  if (options.all) {
    fmt::print("{}", configurations_text(call.jobs));
  } else if (options.kind.empty()) {
    fmt::print("{}", list_of_kinds(call.jobs));
  } else if (options.kind == "presets") {
    fmt::print("{}", presets_text(this_machine()));
  } else {
    fmt::print("{}", configuration_text(call.jobs, options.kind));
  }
  return ExitCode::done;
}

}  // namespace

Command config_command() {
  return make_command<ConfigOptions>(
      "config", "Print every key of a kind of configuration with its default", add, run);
}

}  // namespace headrace::inline v1::app
