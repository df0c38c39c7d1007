#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/report/write_report.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string broken_lines(const char* file, const LineCount& count) {
  if (count.refused) return paragraph(fmt::format("{}: cannot be read", file));
  if (count.broken == 0) return {};
  return paragraph(fmt::format("{}: {} of {} lines could not be read and are left out", file,
                               count.broken, count.lines + count.broken));
}

std::string cases_html(const std::string& what, const BadCases& cases) {
  if (cases.count.lines == 0) return {};
  std::string html = paragraph(fmt::format("{}: {}", what, cases.count.lines));
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  for (const auto& [reason, times] : cases.reasons)
    reasons.emplace_back(times, reason);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  PageTable by_reason{.headings = {"reason", "cases"}, .text_columns = 1};
  for (const auto& [times, reason] : reasons)
    by_reason.rows.push_back({reason, std::to_string(times)});
  if (cases.other_reasons > 0)
    by_reason.rows.push_back({"other reasons", std::to_string(cases.other_reasons)});
  PageTable first{.headings = {"where", "reason", "done"}, .text_columns = 3};
  for (const BadCase& one : cases.first)
    first.rows.push_back({one.where, one.reason, one.done});
  html += to_html(by_reason) + "<h3>The first of them</h3>\n" + to_html(first);
  return html;
}

// Samples that could not be used and steps that were not finite.
std::string report_bad(const BadCases& samples, const BadCases& steps) {
  return section("Bad samples and steps",
                 cases_html("Samples that could not be used", samples) +
                     cases_html("Steps whose loss or gradients were not finite", steps));
}

// What is not at its default, the whole text, and the commands.
std::string report_config(const RunRecord& run, const std::vector<Job>& jobs) {
  PageTable table{.headings = {"key", "value", "default"}, .text_columns = 3};
  for (const ChangedKey& key : changed_keys(run.config, jobs))
    table.rows.push_back({key.path, key.value, key.usual});
  std::string html;
  if (!table.rows.empty())
    html = paragraph("Keys that are not at their defaults:") + to_html(table);
  html += folded_text("config.yaml, every key", run.config_text);
  std::string commands;
  for (const std::string& command : run.commands)
    commands += command + '\n';
  html += folded_text(
      run.commands.size() > 1 ? "command.txt: each time that it was started" : "command.txt",
      commands);
  return section("Configuration", html);
}

}  // namespace

std::string report_page(const std::filesystem::path& folder, const std::vector<Job>& jobs) {
  const RunRecord run = read_run(folder);
  const StepHistory steps = read_steps(folder / "metrics.jsonl");
  const MachineHistory system = read_system(folder / "system.jsonl");
  const AdviceCases advice = read_advice(folder / "advice.jsonl");
  const BadCases samples = read_bad_samples(folder / "bad_samples.jsonl");
  const BadCases bad_steps = read_bad_steps(folder / "bad_steps.jsonl");
  std::string remarks;
  for (const std::string& remark : run.remarks)
    remarks += paragraph(remark);
  remarks +=
      broken_lines("metrics.jsonl", steps.count) + broken_lines("system.jsonl", system.count) +
      broken_lines("events.jsonl", run.events.count) + broken_lines("advice.jsonl", advice.count) +
      broken_lines("bad_samples.jsonl", samples.count) +
      broken_lines("bad_steps.jsonl", bad_steps.count);
  return whole_page(
      run.name, report_head(run) + report_advice(run, advice) + report_curves(run, steps) +
                    report_steps(run, steps) + report_memory(run, steps) + report_system(system) +
                    report_spikes(system) + report_bad(samples, bad_steps) +
                    report_epochs(run, steps) + report_pictures(run) + report_config(run, jobs) +
                    section("What could not be read", remarks));
}

void write_report(const std::filesystem::path& run, const std::vector<Job>& jobs) {
  write_file_atomically(run / "report.html", report_page(run, jobs), {.who = "report"});
}

}  // namespace headrace::inline v1::app
