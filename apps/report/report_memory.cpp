#include <headrace/apps/config/units.h>
#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace headrace::inline v1::app {
namespace {

struct PhaseName {
  const char* column;  // begins its columns
  const char* shown;
  std::size_t colour;
};
constexpr std::array<PhaseName, 2> phases{
    {{"training_", "training", 0}, {"evaluation_", "evaluation", 1}}};

struct Measure {
  const char* column;  // ends the column
  const char* title;
};
constexpr std::array<Measure, 4> measures{{{"tensors_peak_bytes", "Most in tensors"},
                                           {"reserved_peak_bytes", "Most reserved of the GPU"},
                                           {"loaders_bytes", "In loaders"},
                                           {"process_bytes", "Held by the process"}}};

// A limit of the configuration in bytes.
std::optional<double> limit_of(const RunRecord& run, const char* key) {
  const Entry* memory = run.config.find("memory");
  if (memory == nullptr) return std::nullopt;
  const Node* limit = &memory->value;
  if (limit->kind == Node::Kind::map) {
    const Entry* entry = limit->find(key);
    if (entry == nullptr) return std::nullopt;
    limit = &entry->value;
  }
  const auto bytes = limit->kind == Node::Kind::scalar ? parse_bytes(limit->text) : std::nullopt;
  if (!bytes) return std::nullopt;
  return static_cast<double>(bytes->value);
}

double most_of(const EpochLog& log, const std::string& column) {
  double most = -HUGE_VAL;
  for (const EpochLog::Row& row : log.rows())
    if (const double value = log.value(row, column); value > most) most = value;
  return most;
}

// A limit far above all that was held would press the curves to the ground: it is said in the
// title.
void add_limit(Chart& chart, double limit, double most, const ByteScale& scale) {
  if (most * 4.0 >= limit)
    chart.limits.push_back({.y = limit * scale.factor, .name = "limit"});
  else
    chart.title += " (limit " + monitor::format_bytes(static_cast<std::uint64_t>(limit)) + ')';
}

Chart memory_chart(const RunRecord& run, const Measure& measure) {
  const EpochLog& log = run.epochs;
  double most = 0.0;
  for (const PhaseName& phase : phases)
    most = std::max(most, most_of(log, std::string(phase.column) + measure.column));
  const ByteScale scale = byte_scale(most);
  Chart chart = epoch_chart(log, measure.title, scale.unit);
  chart.low = 0.0;
  for (const PhaseName& phase : phases)
    add_column(chart, log, std::string(phase.column) + measure.column, phase.shown, phase.colour,
               scale.factor);
  const std::string column = measure.column;
  const auto limit = column == "process_bytes"         ? limit_of(run, "limit")
                     : column == "reserved_peak_bytes" ? limit_of(run, "gpu")
                                                       : std::nullopt;
  if (limit && most > 0.0) add_limit(chart, *limit, most, scale);
  return chart;
}

std::string bytes_cell(double bytes) {
  return std::isfinite(bytes) && bytes >= 0.0
             ? monitor::format_bytes(static_cast<std::uint64_t>(bytes))
             : std::string();
}

// The most of each phase, those that are of no epoch, too.
PageTable peak_table(const RunRecord& run, const StepHistory& steps) {
  PageTable table{.headings = {"phase", "tensors, most", "reserved, most", "in loaders", "process"},
                  .text_columns = 1};
  for (const PhaseName& phase : phases) {
    const std::string column = phase.column;
    const auto most = [&](const char* name) {
      return bytes_cell(most_of(run.epochs, column + name));
    };
    if (most("process_bytes").empty()) continue;
    table.rows.push_back({phase.shown, most("tensors_peak_bytes"), most("reserved_peak_bytes"),
                          most("loaders_bytes"), most("process_bytes")});
  }
  struct Peak {
    double tensors = -HUGE_VAL;
    double reserved = -HUGE_VAL;
    double process = -HUGE_VAL;
  };
  std::map<std::string, Peak> others;
  for (const PhaseRow& row : steps.phases) {
    Peak& peak = others[row.phase];
    if (row.tensors_peak > peak.tensors) peak.tensors = row.tensors_peak;
    if (row.reserved_peak > peak.reserved) peak.reserved = row.reserved_peak;
    if (row.process > peak.process) peak.process = row.process;
  }
  for (const auto& [name, peak] : others)
    table.rows.push_back(
        {name, bytes_cell(peak.tensors), bytes_cell(peak.reserved), "", bytes_cell(peak.process)});
  return table;
}

}  // namespace

std::string report_memory(const RunRecord& run, const StepHistory& steps) {
  std::string charts;
  for (const Measure& measure : measures)
    charts += to_html(memory_chart(run, measure));
  return section("Memory", to_html(peak_table(run, steps)) + chart_grid(charts));
}

}  // namespace headrace::inline v1::app
