#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/report/write_report.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string broken_lines(const char* file, const LineCount& count) {
  if (count.refused) return paragraph(fmt::format("{}: cannot be read", file));
  if (count.broken == 0) return {};
  return paragraph(fmt::format("{}: {} of {} lines could not be read and are left out", file,
                               count.broken, count.lines + count.broken));
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
  remarks += broken_lines("metrics.jsonl", steps.count) +
             broken_lines("system.jsonl", system.count) +
             broken_lines("advice.jsonl", advice.count) +
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
