#include <headrace/apps/figures/figure_text.h>
#include <headrace/apps/predict/evaluation_report.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/internal/json_fields.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using nlohmann::ordered_json;
using Line = EvaluationReport::Line;

constexpr std::size_t most_report_columns = 100;

// Mean, lowest and highest of a figure, of the members that have it as a number; empty where none
// has.
std::vector<std::string> spread(const std::vector<Line>& members, const std::string& name) {
  double sum = 0.0;
  double count = 0.0;
  double lowest = HUGE_VAL;
  double highest = -HUGE_VAL;
  for (const Line& member : members) {
    const double value = figure(member.figures, name);
    if (std::isnan(value)) continue;
    sum += value;
    count += 1.0;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  if (count == 0.0) return {"", "", ""};
  return {figure_text(sum / count), figure_text(lowest), figure_text(highest)};
}

std::vector<std::string> names_of(const EvaluationReport& report) {
  std::vector<std::string> names;
  const auto add = [&](const Line& line) {
    for (const auto& [name, value] : line.figures)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Line& member : report.members)
    add(member);
  for (const Line& vote : report.votes)
    add(vote);
  return names;
}

ordered_json json_of(const char* called, const Line& line) {
  ordered_json json{{called, line.member}, {"figures", numbers_json<ordered_json>(line.figures)}};
  if (!line.confusion.counts.empty())
    json["confusion"] = {{"classes", line.confusion.classes}, {"counts", line.confusion.counts}};
  if (line.nan > 0) json["no_numbers"] = {{"records", line.nan}, {"first", line.first_nan}};
  return json;
}

// A figure may be no number since there is nothing that it is defined over.
std::string cell_of(const Line& line, const std::string& name) {
  const double value = figure(line.figures, name);
  return std::isnan(value) && line.nan == 0 ? "not defined" : figure_text(value);
}

// With the first so many votes.
std::string table_of(const EvaluationReport& report, std::size_t votes) {
  const bool several = report.members.size() > 1;
  std::vector<Table::Column> columns{{.heading = "figure", .align = Align::left}};
  for (std::size_t i = 0; i < votes; ++i)
    columns.push_back({.heading = report.votes[i].member});
  if (several)
    columns.insert(columns.end(),
                   {{.heading = "mean"}, {.heading = "lowest"}, {.heading = "highest"}});
  else
    columns.push_back({.heading = "value"});
  Table table(columns);
  for (const std::string& name : names_of(report)) {
    std::vector<std::string> cells{figure_words(name)};
    for (std::size_t i = 0; i < votes; ++i) {
      const double value = figure(report.votes[i].figures, name);
      cells.push_back(std::isnan(value) ? "" : figure_text(value));
    }
    if (several) {
      const std::vector<std::string> more = spread(report.members, name);
      cells.insert(cells.end(), more.begin(), more.end());
    } else {
      cells.push_back(cell_of(report.members.front(), name));
    }
    table.row(std::move(cells));
  }
  return table.text();
}

// A line of a table ends with a cell of numbers or its heading: none is wider than the head.
std::size_t head_width(const std::string& table) {
  return text_width(std::string_view(table).substr(0, table.find('\n')));
}

}  // namespace

std::string evaluation_text(const EvaluationReport& report) {
  std::size_t votes = report.votes.size();
  std::string text = table_of(report, votes);
  while (votes > 1 && head_width(text) > most_report_columns)
    text = table_of(report, --votes);
  if (report.unread > 0)
    text += fmt::format("figures are of {} of {} records; the others could not be read\n",
                        report.samples, report.samples + report.unread);
  return text;
}

std::string seen_text(const EvaluationReport& report) {
  if (!report.seen || report.seen->learnt + report.seen->chose == 0) return "";
  const SeenRecords& seen = *report.seen;
  std::string text =
      fmt::format("[evaluate] of {} records the run has learnt from {}", seen.records, seen.learnt);
  if (seen.by_name > 0) text += fmt::format(" ({} known by path and size alone)", seen.by_name);
  if (seen.chose > 0) text += fmt::format(", and {} chose its weights", seen.chose);
  return text +
         "; their figures say nothing of new records; without --data the run's own test is judged";
}

std::string evaluation_json(const EvaluationReport& report) {
  ordered_json json{{"data", nullptr},           {"split", report.split},
                    {"samples", report.samples}, {"unread", report.unread},
                    {"seen", nullptr},           {"members", ordered_json::array()}};
  if (!report.data.empty()) json["data"] = report.data.string();
  if (report.seen)
    json["seen"] = {{"records", report.seen->records},
                    {"learnt_from", report.seen->learnt},
                    {"by_path_and_size", report.seen->by_name},
                    {"chose_weights", report.seen->chose}};
  for (const Line& line : report.members)
    json["members"].push_back(json_of("member", line));
  if (!report.votes.empty())
    json["vote"] = numbers_json<ordered_json>(report.votes.front().figures);
  if (report.votes.size() > 1)
    for (const Line& vote : report.votes)
      json["votes"].push_back(json_of("name", vote));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace headrace::inline v1::app
