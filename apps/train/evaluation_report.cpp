#include <headrace/apps/terminal/table.h>
#include <headrace/apps/train/evaluation_report.h>
#include <headrace/apps/train/figure_text.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using nlohmann::ordered_json;
using Line = EvaluationReport::Line;

// Mean, lowest and highest of a figure.
std::vector<std::string> spread(const std::vector<Line>& members, const std::string& name) {
  double sum = 0.0;
  double lowest = HUGE_VAL;
  double highest = -HUGE_VAL;
  for (const Line& member : members) {
    const double value = figure(member.figures, name);
    sum += value;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  return {figure_text(sum / static_cast<double>(members.size())), figure_text(lowest),
          figure_text(highest)};
}

std::vector<std::string> names_of(const EvaluationReport& report) {
  std::vector<std::string> names;
  const auto add = [&](const Line& line) {
    for (const auto& [name, value] : line.figures)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Line& member : report.members)
    add(member);
  if (report.vote) add(*report.vote);
  return names;
}

ordered_json json_of(const Figures& figures) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : figures)
    json[name] = value;
  return json;
}

ordered_json json_of(const Line& line) {
  ordered_json json{{"member", line.member}, {"figures", json_of(line.figures)}};
  if (!line.confusion.counts.empty())
    json["confusion"] = {{"classes", line.confusion.classes}, {"counts", line.confusion.counts}};
  return json;
}

}  // namespace

std::string evaluation_text(const EvaluationReport& report) {
  const bool several = report.members.size() > 1;
  std::vector<Table::Column> columns{{.heading = "figure", .align = Align::left}};
  if (report.vote) columns.push_back({.heading = "vote"});
  if (several)
    columns.insert(columns.end(),
                   {{.heading = "mean"}, {.heading = "lowest"}, {.heading = "highest"}});
  else
    columns.push_back({.heading = "value"});
  Table table(columns);
  for (const std::string& name : names_of(report)) {
    std::vector<std::string> cells{figure_words(name)};
    if (report.vote) {
      const double value = figure(report.vote->figures, name);
      cells.push_back(std::isnan(value) ? "" : figure_text(value));
    }
    if (several) {
      const std::vector<std::string> more = spread(report.members, name);
      cells.insert(cells.end(), more.begin(), more.end());
    } else {
      cells.push_back(figure_text(figure(report.members.front().figures, name)));
    }
    table.row(std::move(cells));
  }
  return table.text();
}

std::string evaluation_json(const EvaluationReport& report) {
  ordered_json json{{"data", report.data.string()},
                    {"split", report.split},
                    {"samples", report.samples},
                    {"members", ordered_json::array()}};
  for (const Line& line : report.members)
    json["members"].push_back(json_of(line));
  if (report.vote) json["vote"] = json_of(report.vote->figures);
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace headrace::inline v1::app
