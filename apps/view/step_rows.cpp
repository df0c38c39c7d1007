#include <headrace/apps/view/step_rows.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

using nlohmann::ordered_json;

std::string to_json(const BadStepFacts& bad, const FoldView& fold) {
  ordered_json json{{"member", fold.fold}};
  if (!fold.stage.empty()) json["stage"] = fold.stage;
  json["epoch"] = bad.epoch;
  json["step"] = bad.step;
  json["loss"] = bad.loss;
  json["gradient_norm"] = bad.gradient_norm;
  json["done"] = bad.done;
  json["samples"] = ordered_json::array();
  for (const Origin& sample : bad.samples)
    json["samples"].push_back(
        {{"index", sample.index}, {"position", sample.position}, {"file", sample.file}});
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

namespace {

constexpr std::chrono::seconds row_interval{5};

}  // namespace

std::optional<StepRow> StepRows::add(const StepFacts& step) {
  if (step.step <= last_.step) clear();  // steps that are done again
  last_ = step;
  ++steps_;
  samples_ += step.samples;
  seconds_ += step.times.wall_s;
  if (step.loss) add("loss", *step.loss);
  for (const auto& [name, value] : step.terms)
    add(name, value);
  if (step.gradient_norm) add("gradient_norm", *step.gradient_norm);
  return due() ? rest() : std::nullopt;
}

void StepRows::add(const std::string& name, double value) {
  if (!std::isfinite(value)) return;
  auto found = std::find_if(means_.begin(), means_.end(),
                            [&](const auto& mean) { return mean.first == name; });
  if (found == means_.end()) found = means_.insert(means_.end(), {name, {}});
  found->second.sum += value;
  ++found->second.count;
}

bool StepRows::due() const {
  return every_ > 0 ? last_.step % every_ == 0 : Clock::now() - row_time_ >= row_interval;
}

std::optional<StepRow> StepRows::rest() {
  if (steps_ == 0) return std::nullopt;
  StepRow row{.epoch = last_.epoch,
              .step = last_.step,
              .learning_rate = last_.learning_rate,
              .samples_per_s =
                  seconds_ > 0.0 ? static_cast<double>(samples_) / seconds_ : EpochFacts::none};
  for (const auto& [name, mean] : means_)
    row.figures.emplace_back(name, mean.sum / static_cast<double>(mean.count));
  clear();
  row_time_ = Clock::now();
  return row;
}

void StepRows::clear() {
  steps_ = 0;
  samples_ = 0;
  seconds_ = 0.0;
  means_.clear();
}

MetricRow metric_row(const StepRow& row) {
  MetricRow cells{{"epoch", row.epoch}, {"step", row.step}, {"loss", figure(row.figures, "loss")}};
  for (const auto& [name, value] : row.figures)
    if (name != "loss") cells.emplace_back(name, value);
  cells.insert(cells.end(),
               {{"learning_rate", row.learning_rate}, {"samples_per_s", row.samples_per_s}});
  return cells;
}

}  // namespace headrace::inline v1::app
