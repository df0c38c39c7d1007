#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

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

}  // namespace

std::string report_bad(const BadCases& samples, const BadCases& steps) {
  return section("Bad samples and steps",
                 cases_html("Samples that could not be used", samples) +
                     cases_html("Steps whose loss or gradients were not finite", steps));
}

}  // namespace headrace::inline v1::app
