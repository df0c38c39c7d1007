#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/terminal/utc.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string lines_html(const std::vector<SaidLine>& lines, std::uint64_t more) {
  PageTable table{.headings = {"from (UTC)", "to (UTC)", "said", "times"}, .text_columns = 3};
  for (const SaidLine& line : lines)
    table.rows.push_back({shown_utc(line.first), line.times > 1 ? shown_utc(line.last) : "",
                          line.text, std::to_string(line.times)});
  std::string html = to_html(table);
  if (more > 0) html += paragraph(fmt::format("{} more are in events.jsonl", more), "faint");
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
  text += (text.empty() ? "" : "; ") + advice.setting;
  if (advice.new_value.empty()) return text;
  return text + fmt::format(": {} -> {}", advice.old_value, advice.new_value);
}

std::string card(const AdviceCase& advice) {
  std::string evidence;
  for (const auto& [name, value] : advice.evidence)
    evidence += fmt::format("{}{} {}", evidence.empty() ? "" : ", ", name, value);
  return fmt::format("<div class=\"card {}\"><p><b>{}</b> {}</p>\n",
                     severity_class(advice.severity), escaped(advice.severity),
                     escaped(advice.verdict)) +
         fact_list({{"when (UTC)", advice.at ? shown_utc(*advice.at) : std::string()},
                    {"rule", advice.rule},
                    {"evidence", evidence},
                    {"do", change_text(advice)},
                    {"effect", advice.effect},
                    {"check", advice.check}}) +
         "</div>\n";
}

}  // namespace

std::string report_advice(const RunRecord& run, const AdviceCases& advice) {
  const RunEvents& events = run.events;
  std::string html = lines_html(events.verdicts, events.more_verdicts);
  for (const AdviceCase& one : advice.first)
    html += card(one);
  if (advice.count.lines > advice.first.size())
    html += paragraph(
        fmt::format("{} more are in advice.jsonl", advice.count.lines - advice.first.size()),
        "faint");
  const std::string warnings = lines_html(events.warnings, events.more_warnings);
  if (!warnings.empty()) html += "<h3>Warnings</h3>\n" + warnings;
  return section("Verdicts and advice", html);
}

}  // namespace headrace::inline v1::app
