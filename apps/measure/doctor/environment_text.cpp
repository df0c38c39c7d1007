#include <headrace/apps/measure/doctor/environment.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t least_columns = 60;

std::string state_of(const Finding& finding) {
  if (!finding.known) return "unknown";
  return finding.severity == monitor::Severity::info
             ? "ok"
             : std::string(monitor::to_string(finding.severity));
}

// The state says it already.
std::string found_text(const Finding& finding) {
  constexpr std::string_view said = "unknown: ";
  return !finding.known && finding.found.starts_with(said) ? finding.found.substr(said.size())
                                                           : finding.found;
}

// Of state, what, found, wanted.
using Widths = std::array<std::size_t, 4>;
using Cells = std::array<std::string, 4>;

Widths widths_in(std::size_t columns) {
  constexpr std::size_t state = 7;
  constexpr std::size_t what = 22;
  const std::size_t rest = std::max(columns, least_columns) - state - what - 3 * gap;
  const std::size_t wanted = rest * 2 / 5;
  return {state, what, rest - wanted, wanted};
}

void add_rows(std::string& text, const Cells& cells, const Widths& widths) {
  std::array<std::vector<std::string>, 4> lines;
  std::size_t rows = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    lines[c] = wrapped(cells[c], widths[c]);
    rows = std::max(rows, lines[c].size());
  }
  for (std::size_t r = 0; r < rows; ++r) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string cell = r < lines[c].size() ? lines[c][r] : std::string{};
      line += cell + std::string(widths[c] - std::min(widths[c], text_width(cell)) + gap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
}

void add_way_out(std::string& text, const std::string& way_out, const Widths& widths,
                 std::size_t columns) {
  if (way_out.empty()) return;
  const std::size_t indent = widths[0] + gap;
  bool first = true;
  for (const std::string& line : wrapped(way_out, std::max(columns, least_columns) - indent - 3)) {
    text += std::string(indent, ' ') + (first ? "-> " : "   ") + line + '\n';
    first = false;
  }
}

}  // namespace

std::string environment_text(const Findings& findings, std::size_t columns) {
  const Widths widths = widths_in(columns);
  std::string text;
  add_rows(text, {"", "what", "found", "wanted"}, widths);
  text += std::string(std::max(columns, least_columns), '-') + '\n';
  for (const Finding& finding : findings) {
    add_rows(text, {state_of(finding), finding.what, found_text(finding), finding.wanted}, widths);
    add_way_out(text, finding.way_out, widths, columns);
  }
  return text;
}

std::string environment_json(const Findings& findings) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    list.push_back({{"severity", std::string(monitor::to_string(finding.severity))},
                    {"known", finding.known},
                    {"what", finding.what},
                    {"found", finding.found},
                    {"wanted", finding.wanted},
                    {"way_out", finding.way_out}});
  return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace headrace::inline v1::app
