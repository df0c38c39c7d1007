#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/report/utc.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string lines_html(const std::vector<LogLine>& lines, std::uint64_t more) {
  PageTable table{.headings = {"from", "to", "said", "times"}, .text_columns = 3};
  for (const LogLine& line : lines)
    table.rows.push_back({shown_utc(line.first), line.times > 1 ? shown_utc(line.last) : "",
                          line.text, std::to_string(line.times)});
  std::string html = to_html(table);
  if (more > 0) html += paragraph(fmt::format("{} more are in log.txt", more), "faint");
  return html;
}

// Severities are words of ours; another is none.
std::string severity_class(const std::string& severity) {
  for (const char* known : {"info", "notice", "warning", "error"})
    if (severity == known) return severity;
  return "info";
}

std::string change_text(const AdviceCase& advice) {
  std::string text = advice.action;
  if (advice.setting.empty()) return text;
  return text + fmt::format("{}{}: {} -> {}", text.empty() ? "" : "; ", advice.setting,
                            advice.old_value, advice.new_value);
}

std::string card(const AdviceCase& advice) {
  std::string evidence;
  for (const auto& [name, value] : advice.evidence)
    evidence += fmt::format("{}{} {}", evidence.empty() ? "" : ", ", name, value);
  return fmt::format("<div class=\"card {}\"><p><b>{}</b> {}</p>\n",
                     severity_class(advice.severity), escaped(advice.severity),
                     escaped(advice.verdict)) +
         fact_list({{"when", advice.when},
                    {"rule", advice.rule},
                    {"evidence", evidence},
                    {"do", change_text(advice)},
                    {"effect", advice.effect},
                    {"check", advice.check}}) +
         "</div>\n";
}

}  // namespace

std::string report_advice(const RunRecord& run, const AdviceCases& advice) {
  std::string html = lines_html(run.log.verdicts, run.log.more_verdicts);
  for (const AdviceCase& one : advice.first)
    html += card(one);
  if (advice.count.lines > advice.first.size())
    html += paragraph(
        fmt::format("{} more are in advice.jsonl", advice.count.lines - advice.first.size()),
        "faint");
  const std::string warnings = lines_html(run.log.warnings, run.log.more_warnings);
  if (!warnings.empty()) html += "<h3>Warnings of the log</h3>\n" + warnings;
  return section("Verdicts and advice", html);
}

}  // namespace headrace::inline v1::app
