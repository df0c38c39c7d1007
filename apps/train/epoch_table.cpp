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
             fmt::format("{:.4f}", report.train_loss), fmt::format("{:.4f}", report.train_accuracy),
             fmt::format("{:.4f}", report.validation_loss),
             fmt::format("{:.4f}", report.validation_accuracy),
             fmt::format("{:.2g}", report.learning_rate), monitor::format_seconds(whole),
             part(report.times.data_wait_s, whole), part(report.times.copy_s, whole),
             part(report.times.compute_s, whole), part(other_s(report.times), whole),
             monitor::format_bytes(peak_memory)});
  return table.text();
}

MetricRow epoch_row(const EpochFacts& report) {
  return {{"epoch", report.epoch},
          {"step", report.step},
          {"train_loss", report.train_loss},
          {"train_accuracy", report.train_accuracy},
          {"val_loss", report.validation_loss},
          {"val_accuracy", report.validation_accuracy},
          {"improved", static_cast<std::int64_t>(report.improved)},
          {"learning_rate", report.learning_rate},
          {"steps", report.steps},
          {"wall_s", report.times.wall_s},
          {"data_wait_s", report.times.data_wait_s},
          {"copy_s", report.times.copy_s},
          {"compute_s", report.times.compute_s},
          {"other_s", other_s(report.times)},
          {"validation_s", report.validation_s},
          {"epoch_s", report.seconds}};
}

}  // namespace headrace::inline v1::app
