#include <headrace/apps/measure/labelled.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/monitor/format.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using monitor::format_rate;
using monitor::format_share;

std::string signed_share(double share) {
  return fmt::format("{:+.0f} %", 100.0 * share);
}

// Of the prediction, where there was one.
std::string error_of(const TunedStep& step) {
  if (!(step.got > 0.0) || step.candidate.explores) return "";
  return signed_share(step.candidate.predicted / step.got - 1.0);
}

std::string gain_of(double before, double after) {
  return before > 0.0 ? fmt::format(" ({:.2f} times)", after / before) : "";
}

std::string pace_of(const Tuned& tuned) {
  const std::string alone =
      tuned.device_per_s > 0.0 ? fmt::format("; the step alone {}", format_rate(tuned.device_per_s))
                               : "";
  return fmt::format("{} -> {} samples/s{}, input from {}{}", format_rate(tuned.before),
                     format_rate(tuned.after), gain_of(tuned.before, tuned.after),
                     to_string(tuned.input), alone);
}

std::string change_text(const KeyChange& change) {
  return fmt::format("{} {} -> {}", change.key, change.old_value, change.new_value);
}

// Where `narrow`, without what was measured beside it and the noise.
std::string table_of(const Tuned& tuned, bool narrow) {
  std::vector<Table::Column> columns{
      {"change", Align::left}, {"predicted"}, {"got"}, {"error"}, {"gain"}};
  if (!narrow) columns.insert(columns.end(), {{"without"}, {"noise"}});
  columns.push_back({"", Align::left});
  Table table(columns);
  for (const TunedStep& step : tuned.steps) {
    const bool measured = step.trials > 0;
    std::vector<std::string> cells{
        change_text(step.candidate.change),
        step.candidate.explores ? "?" : format_rate(step.candidate.predicted),
        measured ? format_rate(step.got) : "-", measured ? error_of(step) : "",
        measured ? signed_share(step.gain) : ""};
    if (!narrow) {
      cells.push_back(measured ? format_rate(step.beside) : "-");
      cells.push_back(step.trials > 1 ? format_share(step.spread) : "");
    }
    cells.emplace_back(to_string(step.outcome));
    table.row(std::move(cells));
  }
  return table.empty() ? std::string() : table.text();
}

}  // namespace

std::string_view to_string(TuneOutcome outcome) {
  switch (outcome) {
    case TuneOutcome::kept:
      return "kept";
    case TuneOutcome::no_gain:
      return "no gain";
    case TuneOutcome::refused:
      return "refused";
    case TuneOutcome::failed:
      return "failed";
    case TuneOutcome::too_large:
      return "too large";
  }
  return "unknown";
}

std::string tuned_text(const Tuned& tuned, std::size_t columns) {
  std::string text = table_of(tuned, false);
  if (width_of(text) > columns) text = table_of(tuned, true);
  const auto add = [&](std::string_view label, const std::string& line) {
    text += labelled(label, line, columns);
  };
  for (const TunedStep& step : tuned.steps)
    if (!step.why.empty())
      add(to_string(step.outcome), fmt::format("{} -> {}: {}", step.candidate.change.key,
                                               step.candidate.change.new_value, step.why));
  if (tuned.before > 0.0) add("pace", pace_of(tuned));
  add("ended", tuned.ended);
  for (const KeyChange& change : tuned.changes)
    add("changed", change_text(change));
  if (tuned.changes.empty()) add("changed", "nothing");
  return text;
}

std::string tuned_json(const Tuned& tuned, const std::string& configuration) {
  using nlohmann::ordered_json;
  const auto json_of = [](const KeyChange& change) {
    return ordered_json{{"key", change.key}, {"old", change.old_value}, {"new", change.new_value}};
  };
  ordered_json steps = ordered_json::array();
  for (const TunedStep& step : tuned.steps)
    steps.push_back({{"change", json_of(step.candidate.change)},
                     {"explores", step.candidate.explores},
                     {"predicted_per_s", step.candidate.predicted},
                     {"got_per_s", step.got},
                     {"without_per_s", step.beside},
                     {"gain", step.gain},
                     {"noise", step.spread},
                     {"trials", step.trials},
                     {"outcome", to_string(step.outcome)},
                     {"why", step.why}});
  ordered_json changes = ordered_json::array();
  for (const KeyChange& change : tuned.changes)
    changes.push_back(json_of(change));
  const ordered_json document{
      {"configuration", configuration},     {"input", to_string(tuned.input)},
      {"device_per_s", tuned.device_per_s}, {"before_per_s", tuned.before},
      {"after_per_s", tuned.after},         {"steps", std::move(steps)},
      {"changes", std::move(changes)},      {"ended", tuned.ended}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::inline v1::app
