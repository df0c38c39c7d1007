#include <headrace/apps/backend/smoke_trial.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::app {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2.0;
}

double mean_wait(const std::vector<monitor::StepTimes>& times) {
  double sum = 0.0;
  for (const monitor::StepTimes& step : times)
    sum += step.data_wait_s;
  return times.empty() ? 0.0 : sum / static_cast<double>(times.size());
}

}  // namespace

double TriedPart::step_s() const {
  std::vector<double> rest;
  rest.reserve(times.size());
  for (const monitor::StepTimes& step : times)
    rest.push_back(step.wall_s - step.data_wait_s);
  return mean_wait(times) + median(std::move(rest));
}

double TriedPart::data_wait() const {
  const double step = step_s();
  return step > 0.0 ? mean_wait(times) / step : 0.0;
}

double TriedPart::full_s() const {
  const double epoch =
      static_cast<double>(stage.steps_per_epoch) * step_s() + evaluation_s + save_s;
  return static_cast<double>(epochs) * epoch;
}

void SmokeTrial::begin_call(std::stop_source stop) {
  stop_ = std::move(stop);
}

bool SmokeTrial::same_stage(const TriedStage& stage) const {
  return !parts_.empty() && parts_.back().stage.member == stage.member &&
         parts_.back().stage.number == stage.number;
}

void SmokeTrial::begin_stage(const TriedStage& stage) {
  warm_epoch_ = -1;
  saved_s_ = 0.0;
  told_ = Clock::now();
  if (std::exchange(resuming_, false)) ++resumes_;
  if (same_stage(stage)) return;
  stop_asked_ = false;
  stage_parts_ = parts_.size();
  std::vector<std::int64_t> firsts{0};
  firsts.insert(firsts.end(), stage.changes.begin(), stage.changes.end());
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    const std::int64_t end = i + 1 < firsts.size() ? firsts[i + 1] : stage.epochs;
    parts_.push_back({.stage = stage, .first = firsts[i], .epochs = end - firsts[i]});
  }
}

TriedPart& SmokeTrial::part_of(std::int64_t epoch) {
  std::size_t found = parts_.size() - 1;
  while (found > stage_parts_ && parts_[found].first > epoch)
    --found;
  return parts_[found];
}

void SmokeTrial::on_step(const StepFacts& step) {
  TriedPart& part = part_of(step.epoch);
  ++part.steps;
  monitor::StepTimes times = step.times;
  const bool first = std::exchange(warm_epoch_, step.epoch) != step.epoch;
  const double saved_s = std::exchange(saved_s_, 0.0);
  if (!first) times.wall_s -= saved_s;
  if (!first && !part.warm) part.times.clear();
  part.warm = part.warm || !first;
  if (!first || !part.warm) part.times.push_back(times);
  const std::int64_t halfway = (std::min(steps_, part.stage.steps_per_epoch) + 1) / 2;
  if (!stop_asked_ && part.steps >= halfway) {
    stop_asked_ = resuming_ = true;
    stop_.request_stop();
  }
  told_ = Clock::now();
}

void SmokeTrial::on_evaluation(std::int64_t epoch, double full_s) {
  part_of(epoch).evaluation_s = full_s;
  told_ = Clock::now();
}

// A save that training waits for is told of next behind a step or an evaluation; one beside
// training is told of behind a later step, at once.
void SmokeTrial::on_checkpoint() {
  const double seconds = std::chrono::duration<double>(Clock::now() - told_).count();
  saved_s_ += seconds;
  for (std::size_t i = stage_parts_; i < parts_.size(); ++i)
    parts_[i].save_s = std::max(parts_[i].save_s, seconds);
  told_ = Clock::now();
}

}  // namespace headrace::inline v1::app
