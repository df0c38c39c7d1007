#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/monitor/format.h>

#include <cstdlib>
#include <set>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string bytes_text(const std::string& number) {
  if (number.empty()) return {};
  return monitor::format_bytes(std::strtoull(number.c_str(), nullptr, 10));
}

std::string when_text(const RunRecord& run) {
  const std::optional<double> began = run.began();
  if (!began) return {};
  const std::optional<double> ended = run.ended;
  std::string text = shown_utc(*began) + " UTC";
  if (ended && *ended >= *began)
    text += fmt::format(" to {}, {}", shown_utc(*ended), monitor::format_seconds(*ended - *began));
  if (run.commands.size() > 1) text += fmt::format(", started {} times", run.commands.size());
  return text;
}

std::string machine_text(const RunRecord& run) {
  const std::string model = run.environment_of("cpu.model");
  const std::string usable = run.environment_of("cpu.usable_cores");
  std::string text = run.environment_of("kernel.host");
  const auto add = [&text](const std::string& more) {
    if (more.empty()) return;
    text += (text.empty() ? "" : ", ") + more;
  };
  add(model);
  if (!usable.empty()) add(fmt::format("{} of {} cores", usable, run.environment_of("cpu.cores")));
  if (const std::string memory = bytes_text(run.environment_of("memory.total_bytes"));
      !memory.empty())
    add(memory + " of memory");
  if (const std::string limit = bytes_text(run.environment_of("cgroup.limit_bytes"));
      !limit.empty())
    add(limit + " by its cgroup");
  return text;
}

std::string versions_text(const RunRecord& run) {
  constexpr std::string_view prefix = "versions.";
  std::string text;
  for (const auto& [name, value] : run.environment)
    if (name.starts_with(prefix))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name.substr(prefix.size()), value);
  const std::string kernel = run.environment_of("kernel.release");
  if (!kernel.empty())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", run.environment_of("kernel.system"),
                        kernel);
  return text;
}

std::string end_html(const RunRecord& run) {
  const bool good = run.end == RunEnd::finished;
  const bool bad =
      run.end == RunEnd::failed || run.end == RunEnd::killed || run.end == RunEnd::unknown;
  std::string text = to_string(run.end);
  if (!run.end_words.empty() && !good) text += ": " + run.end_words;
  return paragraph(text, good ? "good" : bad ? "bad" : "");
}

std::string goals_html(const RunRecord& run) {
  std::string html;
  for (const GoalResult& goal : run.goals) {
    const char* css = !goal.passed ? "faint" : *goal.passed ? "good" : "bad";
    const char* word = !goal.passed ? "not judged" : *goal.passed ? "pass" : "FAIL";
    html +=
        fmt::format("<p><span class=\"{}\">{}</span> {}</p>\n", css, word, escaped(goal.sentence));
  }
  return html.empty() ? html : "<h3>Goals</h3>\n" + html;
}

std::string figure(const std::map<std::string, double>& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? std::string() : fmt::format("{:.4f}", found->second);
}

// A line for each figure of each member, validation beside test.
std::string results_html(const RunRecord& run) {
  PageTable table{.headings = {"member", "figure", "validation", "test", "epoch kept"},
                  .text_columns = 2};
  std::string refused;
  for (const MemberResult& result : run.results) {
    const std::string member = result.member.empty() ? "run" : result.member;
    if (!result.refused.empty())
      refused += paragraph(member + " is refused, " + result.refused, "bad");
    std::set<std::string> names;
    for (const auto* part : {&result.validation, &result.test})
      for (const auto& [name, value] : *part)
        names.insert(name);
    for (const std::string& name : names) {
      const bool selects = name == result.selected_by;
      if (selects) table.marked.push_back(table.rows.size());
      table.rows.push_back(
          {member, name, figure(result.validation, name), figure(result.test, name),
           selects && result.best_epoch >= 0 ? std::to_string(result.best_epoch + 1)
                                             : std::string()});
    }
  }
  if (!table.rows.empty()) refused += to_html(table);
  return refused.empty() ? refused : "<h3>Figures</h3>\n" + refused;
}

}  // namespace

std::string report_head(const RunRecord& run) {
  std::string html = "<h1>" + escaped(run.name) + "</h1>\n" + end_html(run);
  html += fact_list({{"job", run.kind},
                     {"when", when_text(run)},
                     {"epochs", run.epochs.empty() ? std::string("none is complete")
                                                   : std::to_string(run.epochs.rows().size())},
                     {"device", run.events.device},
                     {"machine", machine_text(run)},
                     {"versions", versions_text(run)},
                     {"planned", run.events.memory_plan}});
  return html + goals_html(run) + results_html(run);
}

}  // namespace headrace::inline v1::app
