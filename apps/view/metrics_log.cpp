#include <headrace/apps/figures/epoch_log.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/view/epoch_table.h>
#include <headrace/apps/view/metrics_log.h>

#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace headrace::inline v1::app {

std::int64_t steps_before_stage(const CsvTable& metrics, std::int64_t member,
                                const std::string& stage) {
  const EpochLog log(metrics);
  std::map<std::string, std::int64_t> last;
  for (const EpochLog::Row& row : log.rows())
    if (row.member == member && !row.stage.empty() && row.stage != stage)
      if (const double step = log.value(row, "step"); std::isfinite(step))
        last[row.stage] = static_cast<std::int64_t>(step);
  return std::accumulate(last.begin(), last.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& of) { return sum + of.second; });
}

MetricsLog::MetricsLog(RunFolder& folder, const MetricsLogOptions& options,
                       TensorBoardLog::Warn warn)
    : folder_(folder), rows_(options.every) {
  if (options.tensorboard) tensorboard_.emplace(folder.tensorboard(), std::move(warn));
}

void MetricsLog::begin_fold(const FoldView& fold) {
  fold_ = fold;
  if (!tensorboard_) return;
  const std::int64_t before =
      fold.stage.empty() ? 0
                         : steps_before_stage(read_csv_file(folder_.path() / "metrics.csv"),
                                              fold.fold, fold.stage);
  tensorboard_->begin_member(fold.folder, before);
}

void MetricsLog::on_step(const StepFacts& step) {
  if (tensorboard_) tensorboard_->begin_step(step.step);
  if (const std::optional<StepRow> row = rows_.add(step)) write(*row);
}

void MetricsLog::on_bad_step(const BadStepFacts& bad) {
  folder_.bad_steps().write_json(to_json(bad, fold_));
}

void MetricsLog::end_steps() {
  if (const std::optional<StepRow> row = rows_.rest()) write(*row);
}

// Member and, where there are several, stage come first.
MetricRow MetricsLog::with_place(MetricRow row) const {
  row.insert(row.begin(), {"member", static_cast<std::int64_t>(fold_.fold)});
  if (!fold_.stage.empty()) row.insert(row.begin() + 1, {"stage", fold_.stage});
  return row;
}

void MetricsLog::write(const StepRow& row) {
  folder_.metrics_jsonl().write(with_place(metric_row(row)));
  if (tensorboard_) tensorboard_->add(row);
}

void MetricsLog::on_epoch(const EpochFacts& epoch, const MetricRow& beside) {
  MetricRow row = with_place(epoch_row(epoch));
  row.insert(row.end(), beside.begin(), beside.end());
  const std::size_t key = fold_.stage.empty() ? 2 : 3;  // and the epoch
  folder_.metrics_csv().write(row, key);
  folder_.metrics_jsonl().write(row);
  if (tensorboard_) tensorboard_->add(epoch);
}

void MetricsLog::on_phase(const MetricRow& row) {
  folder_.metrics_jsonl().write(with_place(row));
}

}  // namespace headrace::inline v1::app
