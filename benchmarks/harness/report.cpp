#include <headrace/benchmarks/harness/gpu_busy.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/runtime/runtime.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::bench {

namespace {

using Json = nlohmann::ordered_json;

/// The figure that a row's goal is about; nothing where the goal has none.
std::optional<double> judged(const Row& row) {
  if (!row.goal || !row.missing.empty()) return std::nullopt;
  return row.goal->share ? row.median : row.ratio;
}

Json json_of(const Row& row) {
  Json json{{"section", row.section}, {"contender", row.contender}};
  if (!row.missing.empty()) {
    json["missing"] = row.missing;
    return json;
  }
  json["unit"] = row.unit;
  json["median"] = row.median;
  json["low"] = row.low;
  json["high"] = row.high;
  json["repeats"] = row.repeats;
  if (!row.reference.empty()) json["reference"] = row.reference;
  if (row.ratio) json["ratio"] = *row.ratio;
  if (row.goal) {
    json["goal"] = row.goal->value;
    json["goal_of"] = row.goal->share ? "median" : "ratio";
    json["goal_is"] = row.goal->at_most ? "at most" : "at least";
    const auto figure = judged(row);
    json["held"] = figure && row.goal->held(*figure);
  }
  json["note"] = row.note;
  return json;
}

/// Four significant digits, whatever the unit.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 10'000 ? "%.0f" : "%.4g", value);
  return text;
}

void print_table(const std::vector<Row>& rows) {
  std::printf("\n%s\n%-44s %24s %26s %10s\n", rows.front().section.c_str(), "", "median", "spread",
              "ratio");
  for (const Row& row : rows) {
    if (!row.missing.empty()) {
      std::printf("%-44s missing: %s\n", row.contender.c_str(), row.missing.c_str());
      continue;
    }
    const std::string spread = number(row.low) + " - " + number(row.high);
    const std::string median = number(row.median) + " " + row.unit;
    std::printf("%-44s %24s %26s %10s  %s%s%s\n", row.contender.c_str(), median.c_str(),
                spread.c_str(), row.ratio ? number(*row.ratio).c_str() : "", verdict(row).c_str(),
                row.note.empty() ? "" : "  ", row.note.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

Row figure(const std::string& section, const std::string& contender, const std::string& unit,
           const std::vector<double>& values) {
  const auto extremes = std::ranges::minmax(values);
  return {.section = section,
          .contender = contender,
          .unit = unit,
          .median = median(values),
          .low = extremes.min,
          .high = extremes.max,
          .repeats = static_cast<int>(values.size())};
}

std::string verdict(const Row& row) {
  const auto figure = judged(row);
  if (!figure) return "";
  char text[64];
  if (row.goal->share && !row.unit.empty() && row.unit != "share") {
    std::snprintf(text, sizeof text, "goal %s %.3g %s: ", row.goal->at_most ? "<" : ">",
                  row.goal->value, row.unit.c_str());
  } else if (row.goal->share) {
    std::snprintf(text, sizeof text, "goal %s %.3g %%: ", row.goal->at_most ? "<" : ">",
                  100 * row.goal->value);
  } else {
    std::snprintf(text, sizeof text, "goal %.2f: ", row.goal->value);
  }
  return text + std::string(row.goal->held(*figure) ? "held" : "missed");
}

Report::Report(const std::string& benchmark, const Options& options)
    : Report(benchmark, std::filesystem::path(options.text("json"))) {}

Report::Report(std::string benchmark, std::filesystem::path file)
    : benchmark_(std::move(benchmark)), file_(std::move(file)) {
  std::printf("%s\n", machine_line().c_str());
}

void Report::add(std::vector<Row> section) {
  if (section.empty()) return;
  for (Row& row : section) {
    if (dry_) row.goal.reset();
  }
  print_table(section);
  rows_.insert(rows_.end(), section.begin(), section.end());
  write();
}

void Report::add(const std::string& section, const std::string& unit,
                 const std::vector<Rates>& rates, const std::string& reference,
                 const std::vector<std::optional<Goal>>& goals) {
  double base = 0;
  for (const Rates& each : rates) {
    if (each.name == reference) base = each.median;
  }
  std::vector<Row> rows;
  rows.reserve(rates.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Rates& each = rates[i];
    Row row{.section = section,
            .contender = each.name,
            .unit = unit,
            .median = each.median,
            .low = each.low,
            .high = each.high,
            .repeats = each.repeats,
            .reference = reference};
    if (base > 0) row.ratio = each.median / base;
    if (i < goals.size()) row.goal = goals[i];
    if (each.cpu > 0) row.note = number(each.cpu * 1e6) + " us of CPU each";
    rows.push_back(std::move(row));
  }
  add(std::move(rows));
}

void Report::missing(const std::string& section, const std::string& contender,
                     const std::string& why) {
  add({{.section = section, .contender = contender, .missing = why}});
}

void Report::write() const {
  if (file_.empty()) return;
  const std::string gpu = gpu_name();
  Json rows = Json::array();
  for (const Row& row : rows_)
    rows.push_back(json_of(row));
  const Json json{{"benchmark", benchmark_},
                  {"dry", dry_},
                  {"machine",
                   {{"line", machine_line()},
                    {"cpu", cpu_model()},
                    {"cores", usable_cores()},
                    {"gpu", gpu.empty() ? Json() : Json(gpu)},
                    {"date", today()}}},
                  {"rows", std::move(rows)}};
  auto unfinished = file_;
  unfinished += ".part";
  {
    std::ofstream out(unfinished);
    out << json.dump(1) << '\n';
    if (!out.flush()) {
      std::fprintf(stderr, "%s: cannot write %s\n", benchmark_.c_str(), unfinished.c_str());
      return;
    }
  }
  std::filesystem::rename(unfinished, file_);
}

}  // namespace headrace::inline v1::bench
