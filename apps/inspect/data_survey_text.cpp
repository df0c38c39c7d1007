#include <headrace/apps/inspect/data_survey.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_shown = 20;

std::string shape_of(const FieldSurvey& field) {
  if (field.spec.kind == FieldSpec::Kind::fixed) return to_string(field.spec.shape);
  return fmt::format("{} to {} elements", field.shortest, field.longest);
}

std::string values_of(const FieldSurvey& field) {
  std::string text = "-";
  if (field.numbers > 0) text = fmt::format("{:.6g} to {:.6g}", field.least, field.most);
  if (field.not_finite > 0) text += fmt::format(", {} not finite", field.not_finite);
  return text;
}

std::string field_table(const DataSurvey& survey) {
  Table table({{"field", Align::left},
               {"type", Align::left},
               {"shape", Align::left},
               {"values", Align::left},
               {"mean"}});
  for (const FieldSurvey& field : survey.fields) {
    table.row({field.spec.name, std::string(name_of(field.spec.dtype)), shape_of(field),
               values_of(field), field.numbers > 0 ? fmt::format("{:.4g}", field.mean()) : "-"});
  }
  return table.text();
}

std::string count_table(const DataPart& part, const FieldSurvey& field) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order(field.counts.begin(),
                                                           field.counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({{field.spec.name, Align::left}, {"samples"}, {"share"}});
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == most_shown) {
      table.row({fmt::format("and {} more", order.size() - i)});
      break;
    }
    const double share = static_cast<double>(order[i].second) /
                         static_cast<double>(std::max<std::int64_t>(1, field.samples));
    table.row({value_name(part, field, order[i].first), std::to_string(order[i].second),
               monitor::format_share(share)});
  }
  return table.text();
}

Json to_json(const FieldSurvey& field, const DataPart& part) {
  Json shape = Json::array();
  for (int axis = 0; axis < field.spec.shape.rank(); ++axis)
    shape.push_back(field.spec.shape[axis]);
  Json json{{"name", field.spec.name},
            {"dtype", name_of(field.spec.dtype)},
            {"shape", shape},
            {"elements", {{"least", field.shortest}, {"most", field.longest}}},
            {"not_finite", field.not_finite}};
  if (field.numbers > 0) {
    json["least"] = field.least;
    json["most"] = field.most;
    json["mean"] = field.mean();
  }
  if (!field.counted()) return json;
  json["counts"] = Json::array();
  for (const auto& [value, count] : field.counts)
    json["counts"].push_back(
        {{"value", value}, {"name", value_name(part, field, value)}, {"samples", count}});
  return json;
}

Json to_json(const DataSurvey& survey, const DataPart& part) {
  Json fields = Json::array();
  for (const FieldSurvey& field : survey.fields)
    fields.push_back(to_json(field, part));
  Json bad = Json::array();
  for (const Survey::Bad& one : survey.bad)
    bad.push_back({{"index", one.index}, {"record", one.origin}, {"reason", one.reason}});
  return {{"name", part.name},
          {"data", part.records->name()},
          {"size", part.records->size()},
          {"looked_at", survey.records},
          {"fields", fields},
          {"bad", bad}};
}

}  // namespace

std::string value_name(const DataPart& part, const FieldSurvey& field, std::int64_t value) {
  const bool named = field.spec.name == "label" && value >= 0 &&
                     value < static_cast<std::int64_t>(part.classes.size());
  return named ? part.classes[static_cast<std::size_t>(value)] : std::to_string(value);
}

std::string to_text(const DataSurvey& survey, const DataPart& part) {
  std::string text = fmt::format("{}{}{}\nrecords   {} of {} looked at, {} bad\n\n", part.name,
                                 part.name.empty() ? "" : ": ", clean_text(part.records->name()),
                                 survey.records, part.records->size(), survey.bad.size());
  text += field_table(survey);
  for (const FieldSurvey& field : survey.fields)
    if (field.counted()) text += "\n" + count_table(part, field);
  if (survey.bad.empty()) return text;
  text += "\nbad records\n";
  for (std::size_t i = 0; i < std::min(survey.bad.size(), most_shown); ++i)
    text += fmt::format("  {}: {}\n", clean_text(survey.bad[i].origin),
                        clean_text(survey.bad[i].reason));
  if (survey.bad.size() > most_shown)
    text += fmt::format("  and {} more; --json lists them all\n", survey.bad.size() - most_shown);
  return text;
}

std::string to_json(std::span<const DataSurvey> surveys, std::span<const DataPart> parts,
                    const std::vector<std::string>& copies) {
  Json document{{"copies", copies}, {"parts", Json::array()}};
  for (std::size_t i = 0; i < surveys.size(); ++i)
    document["parts"].push_back(to_json(surveys[i], parts[i]));
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::inline v1::app
