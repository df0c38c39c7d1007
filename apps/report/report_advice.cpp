#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/terminal/utc.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string lines_html(const std::vector<LogLine>& lines, std::uint64_t more) {
  PageTable table{.headings = {"from (UTC)", "to (UTC)", "said", "times"}, .text_columns = 3};
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
  text += (text.empty() ? "" : "; ") + advice.setting;
  if (advice.new_value.empty()) return text;
  return text + fmt::format(": {} -> {}", advice.old_value, advice.new_value);
}

// The log has it with its time, which advice.jsonl does not: as advice, or as a warning in its very
// words. A line that is found is taken.
std::string time_of(const AdviceCase& advice, LogFacts& log) {
  const std::string head = advice.verdict + " · ";
  const auto said = std::find_if(log.advice.begin(), log.advice.end(),
                                 [&](const LogLine& line) { return line.text.starts_with(head); });
  if (said != log.advice.end()) {
    const double at = said->first;
    log.advice.erase(said);
    return shown_utc(at);
  }
  const auto warned =
      std::find_if(log.warnings.begin(), log.warnings.end(),
                   [&](const LogLine& line) { return line.text == advice.verdict; });
  if (warned == log.warnings.end()) return {};
  const double at = warned->first;
  if (warned->times <= 1)
    log.warnings.erase(warned);
  else
    --warned->times;
  return shown_utc(at);
}

std::string card(const AdviceCase& advice, const std::string& when) {
  std::string evidence;
  for (const auto& [name, value] : advice.evidence)
    evidence += fmt::format("{}{} {}", evidence.empty() ? "" : ", ", name, value);
  return fmt::format("<div class=\"card {}\"><p><b>{}</b> {}</p>\n",
                     severity_class(advice.severity), escaped(advice.severity),
                     escaped(advice.verdict)) +
         fact_list({{"when (UTC)", when},
                    {"rule", advice.rule},
                    {"evidence", evidence},
                    {"do", change_text(advice)},
                    {"effect", advice.effect},
                    {"check", advice.check}}) +
         "</div>\n";
}

}  // namespace

std::string report_advice(const RunRecord& run, const AdviceCases& advice) {
  LogFacts log = run.log;
  std::string html = lines_html(log.verdicts, log.more_verdicts);
  for (const AdviceCase& one : advice.first)
    html += card(one, time_of(one, log));
  if (advice.count.lines > advice.first.size())
    html += paragraph(
        fmt::format("{} more are in advice.jsonl", advice.count.lines - advice.first.size()),
        "faint");
  log.warnings.insert(log.warnings.end(), log.advice.begin(), log.advice.end());
  const std::string warnings = lines_html(log.warnings, log.more_warnings);
  if (!warnings.empty()) html += "<h3>Warnings of the log</h3>\n" + warnings;
  return section("Verdicts and advice", html);
}

}  // namespace headrace::inline v1::app
