#include <headrace/apps/train/epoch_table.h>

#include <headrace/apps/terminal/table.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

double other_s(const monitor::StepTimes& times) {
  return times.wall_s - times.data_wait_s - times.copy_s - times.compute_s;
}

std::string part(double seconds, double whole) {
  return fmt::format("{} ({})", monitor::format_seconds(seconds),
                     monitor::format_share(whole > 0.0 ? seconds / whole : 0.0));
}

}  // namespace

std::string epoch_table(const EpochFacts& report, std::int64_t epochs, std::uint64_t peak_memory) {
  const double whole = report.times.wall_s;
  Table table({{"epoch", Align::left},
               {"train loss"},
               {"train acc"},
               {"val loss"},
               {"val acc"},
               {"lr"},
               {"steps in"},
               {"data wait"},
               {"copy"},
               {"compute"},
               {"other"},
               {"peak memory"}});
  table.row({fmt::format("{}/{}{}", report.epoch + 1, epochs, report.improved ? " *" : ""),
             fmt::format("{:.4f}", figure(report.train, "loss")),
             fmt::format("{:.4f}", figure(report.train, "accuracy")),
             fmt::format("{:.4f}", figure(report.validation, "loss")),
             fmt::format("{:.4f}", figure(report.validation, "accuracy")),
             fmt::format("{:.2g}", report.learning_rate), monitor::format_seconds(whole),
             part(report.times.data_wait_s, whole), part(report.times.copy_s, whole),
             part(report.times.compute_s, whole), part(other_s(report.times), whole),
             monitor::format_bytes(peak_memory)});
  return table.text();
}

MetricRow epoch_row(const EpochFacts& report) {
  MetricRow row{{"epoch", report.epoch}, {"step", report.step}};
  for (const auto& [name, value] : report.train)
    row.emplace_back("train_" + name, value);
  for (const auto& [name, value] : report.validation)
    row.emplace_back("val_" + name, value);
  row.insert(row.end(), {{"improved", static_cast<std::int64_t>(report.improved)},
                         {"learning_rate", report.learning_rate},
                         {"steps", report.steps},
                         {"wall_s", report.times.wall_s},
                         {"data_wait_s", report.times.data_wait_s},
                         {"copy_s", report.times.copy_s},
                         {"compute_s", report.times.compute_s},
                         {"other_s", other_s(report.times)},
                         {"validation_s", report.validation_s},
                         {"epoch_s", report.seconds}});
  return row;
}

}  // namespace headrace::inline v1::app
