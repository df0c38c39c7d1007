#include <headrace/apps/report/compare_runs.h>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using nlohmann::ordered_json;

const char* name_of(FigureKind kind) {
  switch (kind) {
    case FigureKind::rate:
      return "per second";
    case FigureKind::seconds:
      return "seconds";
    case FigureKind::bytes:
      return "bytes";
    case FigureKind::share:
      return "share";
    case FigureKind::learnt:
      return "learnt";
  }
  return "";
}

const char* name_of(DifferenceKind finding) {
  switch (finding) {
    case DifferenceKind::missing:
      return "missing";
    case DifferenceKind::same:
      return "same";
    case DifferenceKind::differs:
      return "differs";
    case DifferenceKind::within_noise:
      return "within noise";
    case DifferenceKind::noise_unknown:
      return "noise unknown";
    case DifferenceKind::negligible:
      return "negligible";
  }
  return "";
}

ordered_json keys_json(const std::vector<KeyDifference>& keys) {
  ordered_json list = ordered_json::array();
  for (const KeyDifference& key : keys) {
    ordered_json values = ordered_json::array();
    for (const std::string& value : key.values)
      values.push_back(value.empty() ? ordered_json(nullptr) : ordered_json(value));
    list.push_back({{"key", key.key}, {"values", std::move(values)}});
  }
  return list;
}

ordered_json figure_json(const ComparedFigure& figure) {
  ordered_json runs = ordered_json::array();
  for (const Spread& spread : figure.runs) {
    if (spread.count == 0)
      runs.push_back(nullptr);
    else
      runs.push_back({{"count", spread.count},
                      {"mean", spread.mean},
                      {"standard_deviation",
                       spread.count > 1 ? ordered_json(spread.deviation) : ordered_json(nullptr)}});
  }
  ordered_json differences = ordered_json::array();
  for (const FigureDifference& said : figure.differences) {
    const bool known = said.finding != DifferenceKind::missing;
    const bool noise = known && said.finding != DifferenceKind::noise_unknown;
    differences.push_back(
        {{"finding", name_of(said.finding)},
         {"change", known ? ordered_json(said.change) : ordered_json(nullptr)},
         {"half_width", noise ? ordered_json(said.half_width) : ordered_json(nullptr)},
         {"words", said.words}});
  }
  return {{"name", figure.name},
          {"counts", name_of(figure.kind)},
          {"spread_over", figure.over},
          {"runs", std::move(runs)},
          {"differences", std::move(differences)}};
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  ordered_json json{{"runs", ordered_json::array()}};
  for (const ComparedRun& run : comparison.runs)
    json["runs"].push_back({{"folder", run.record.folder.string()},
                            {"kind", run.record.kind},
                            {"epochs", run.record.epochs.rows().size()},
                            {"end", to_string(run.record.end)}});
  json["sentences"] = comparison.sentences;
  json["configuration"] = keys_json(comparison.configuration);
  json["environment"] = keys_json(comparison.environment);
  json["figures"] = ordered_json::array();
  for (const ComparedFigure& figure : comparison.figures)
    json["figures"].push_back(figure_json(figure));
  json["noise"] = noise_sentence();
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::inline v1::app
