#pragma once

#include <headrace/training/async_scalars.h>
#include <headrace/training/detail/exposed_copy.h>
#include <headrace/training/detail/step_pace.h>
#include <headrace/training/detail/step_reports.h>
#include <headrace/training/trainer.h>

#include <chrono>
#include <optional>
#include <utility>

namespace headrace::inline v1::training {

namespace detail {

using Clock = std::chrono::steady_clock;

// Cuts time into pieces that leave nothing out: each call ends one piece and begins the next.
class Cutter {
 public:
  double cut() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }
  Clock::time_point last() const { return last_; }

 private:
  Clock::time_point last_ = Clock::now();
};

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace detail

class Trainer::Loop {
 public:
  Loop(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks);

  void restore(const Checkpoint& checkpoint);
  Checkpoint checkpoint() const;
  const Progress& progress() const { return progress_; }
  RunResult run(std::stop_token stop);

 private:
  enum class Went : unsigned char { on, epoch_ended, stopped };

  // What is gathered over the micro-batches of one step.
  struct Window {
    LossMeans losses;
    at::Tensor loss_sum;
    at::Tensor weight;  // undefined: the rows
    std::int64_t rows = 0;
    StepTimes times;

    void add(const Forward& forward);
    at::Tensor mean_loss() const;
    detail::StepReports::Figures figures(const at::Tensor& norm) const;
  };

  bool train_epoch(const std::stop_token& stop);
  bool train_steps(const std::stop_token& stop);
  void spend(StepTimes& times, double StepTimes::*part = nullptr);
  void settle();
  void tell(const StepReport& report);
  Moment moment(const Batch& batch);
  Went train_step(const std::stop_token& stop);
  Went gather(Window& window, bool first, std::int64_t& left, const std::stop_token& stop);
  void finish_step(Window& window);
  void count_skipped(const at::Tensor& skipped, std::size_t unknown);
  bool saves_now() const;
  std::optional<RunStatus> finish_epoch(const std::stop_token& stop);
  std::optional<Evaluation> validate(const std::stop_token& stop);
  double figure_of(const Evaluation& validation, const std::string& name, const char* wanted) const;
  void warn_of_nan(double value, const std::string& name) const;
  void judge(EpochReport& report);
  void keep_best(const EpochReport& report);
  int patience() const;
  bool out_of_patience() const;
  void begin_epoch(std::int64_t epoch);
  void seek_training_data();
  void require_finite() const;
  void save(bool must);
  void try_to_save(bool must, const std::function<void()>& write);
  RunResult result(RunStatus status) const;

  TrainerParts parts_;
  TrainerOptions options_;
  TrainerCallbacks callbacks_;
  Update update_;
  Progress progress_;
  std::int64_t steps_per_epoch_;
  std::function<double(std::int64_t)> rate_;
  Selection selection_;
  Random random_;
  LossMeans losses_;                // of the epoch
  std::unique_ptr<Metric> metric_;  // likewise; null where the course has none of training
  TensorMap fitted_;                // by the newest validation
  std::optional<BestWeights> unsaved_best_;
  AsyncScalars skips_;
  std::optional<std::int64_t> loader_epoch_;  // where the loader goes on by itself
  detail::Cutter clock_;
  StepTimes epoch_times_;
  std::int64_t epoch_steps_ = 0;
  double training_seconds_ = 0.0;
  detail::StepPace pace_;
  detail::ExposedCopy exposed_;
  detail::StepReports reports_;
  detail::Clock::time_point epoch_start_ = detail::Clock::now();
  int failed_saves_ = 0;
};

}  // namespace headrace::inline v1::training
