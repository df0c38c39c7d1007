#include <headrace/apps/report/compare_runs.h>
#include <headrace/apps/report/system_history.h>
#include <headrace/engine/base/error.h>

#include <set>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

ComparedRun read_compared(const std::filesystem::path& folder) {
  ComparedRun run{.record = read_run(folder), .steps = read_steps(folder / "metrics.jsonl")};
  const MachineHistory system = read_system(folder / "system.jsonl");
  for (const auto& [name, curve] : system.curves)
    run.machine_means[name] = curve.mean();
  return run;
}

// "A glaucoma, B leak", where not all say the same.
template <class Value>
std::string unequal(const std::vector<ComparedRun>& runs, const Value& value) {
  std::set<std::string> different;
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string said = value(runs[i].record);
    different.insert(said);
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", letter_of(i), said.empty() ? "?" : said);
  }
  return different.size() < 2 ? std::string() : text;
}

std::vector<std::string> sentences_of(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> sentences;
  const auto add = [&sentences](const std::string& before, const std::string& unlike,
                                const std::string& behind) {
    if (!unlike.empty()) sentences.push_back(before + " (" + unlike + ')' + behind);
  };
  add("The runs are of different kinds",
      unequal(runs, [](const RunRecord& run) { return run.kind; }),
      ": they are compared as far as they have the same figures.");
  add("The machines differ",
      unequal(runs,
              [](const RunRecord& run) {
                return run.environment_of("kernel.host") + ' ' + run.environment_of("cpu.model");
              }),
      ": times say as much of them as of the configurations.");
  add("They did different numbers of epochs",
      unequal(runs, [](const RunRecord& run) { return std::to_string(run.epochs.rows().size()); }),
      ": what was learnt is not the fruit of the same work.");
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].record.end != RunEnd::finished)
      sentences.push_back(fmt::format("Run {} {}.", letter_of(i), to_string(runs[i].record.end)));
  return sentences;
}

}  // namespace

std::string letter_of(std::size_t run) {
  return run < 26 ? std::string(1, static_cast<char>('A' + run)) : std::to_string(run + 1);
}

std::string noise_sentence() {
  return "Noise: the spread over a run's epochs behind each member's first, of what was learnt "
         "over "
         "members; ± is the 95 % interval of a difference (Welch). What changes from run to run, "
         "another node or day, is not in it: only repeated runs show that.";
}

Comparison compare_runs(const std::vector<std::filesystem::path>& folders) {
  if (folders.size() < 2)
    throw ConfigError(
        fmt::format("[compare] at least two runs must be named, got {}; add the folder of another",
                    folders.size()));
  Comparison comparison;
  for (const std::filesystem::path& folder : folders)
    comparison.runs.push_back(read_compared(folder));
  comparison.sentences = sentences_of(comparison.runs);
  comparison.configuration = differing_keys(comparison.runs);
  comparison.environment = differing_environment(comparison.runs);
  comparison.figures = compare_figures(comparison.runs);
  return comparison;
}

}  // namespace headrace::inline v1::app
