#pragma once

#include <headrace/engine/torch/device_event.h>
#include <headrace/training/checkpoint/checkpoint_writer.h>
#include <headrace/training/detail/batch_rows.h>
#include <headrace/training/trainer/detail/kept_buffers.h>
#include <headrace/training/trainer/detail/step_reports.h>
#include <headrace/training/trainer/trainer.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <c10/core/Event.h>

namespace headrace::inline v1::training::detail {

// Keeps the host from running far ahead of a GPU. Without it the host would fill all slabs with
// batches that the GPU comes to much later, then wait for a slab in next(), and time in which the
// GPU computes would count as a wait for data.
class StepPace {
 public:
  explicit StepPace(at::Device device) : device_(device) {}

  // The work of a micro-batch has been queued: waits until the device is at most two behind. Not of
  // a step: the micro-batches of two may be more than there are slabs.
  void batch() {
    if (!device_.is_cuda()) return;
    batches_.push_back(event_behind(device_));
    if (batches_.size() > ahead) finish_first();
  }

  // Waits for all of them.
  void finish() {
    while (!batches_.empty())
      finish_first();
  }

 private:
  static constexpr std::size_t ahead = 2;

  // Asks now and then: synchronize() would keep a core busy that the loader's workers need.
  void finish_first() {
    while (!batches_.front().query())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    batches_.pop_front();
  }

  at::Device device_;
  std::deque<c10::Event> batches_;
};

}  // namespace headrace::inline v1::training::detail

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

// Of the counters of a checkpoint: whose they are.
inline constexpr const char* of_losses = "loss/";
inline constexpr const char* of_metric = "metric/";
inline constexpr const char* of_nan = "nan";
// Rows of the step to come that the metric has counted, before memory ran out in it.
inline constexpr const char* counted_before = "counted_before";

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
  WeightAverage* average() { return average_ ? &*average_ : nullptr; }
  RunResult run(std::stop_token stop);

 private:
  enum class Went : unsigned char { on, epoch_ended, stopped, reloaded };

  // What is gathered over the micro-batches of one step.
  struct Window {
    LossMeans losses;
    at::Tensor loss_sum;
    at::Tensor weight;  // undefined: the rows
    std::int64_t rows = 0;
    std::int64_t seen = 0;  // rows of micro-batches, absent ones too
    std::vector<RowOrigins> origins;
    StepTimes times;
    std::optional<StepOutcome> outcome;  // of the step, where it was done

    void add(const Forward& forward);
    at::Tensor mean_loss() const;
  };

  RunResult run_epochs(const std::stop_token& stop);
  Went train_epoch(const std::stop_token& stop);
  Went train_steps(const std::stop_token& stop);
  void spend(StepTimes& times, double StepTimes::*part = nullptr);
  void settle();
  void tell(const StepReport& report);
  Moment moment(std::int64_t position);
  Went train_step(const std::stop_token& stop);
  Went try_step(Window& window, const std::stop_token& stop);
  Went gather(Window& window, bool first, std::int64_t& left, const std::stop_token& stop);
  void learn(Window& window, const Batch& batch, detail::BatchRows rows, bool first);
  // What is done where memory runs out.
  void keep_start();
  void drop_step();
  void step_down(const std::string& lack);
  bool take_smaller_micro_batches();
  [[noreturn]] void give_up(const std::string& report);
  void save_at_last();
  StateBytes state() const;
  std::string report_of(const std::string& who, const std::string& lack) const;
  std::string smaller_batch_words() const;
  std::int64_t micro_batch() const;
  std::vector<std::int64_t> ends_of(std::int64_t rows) const;
  std::int64_t least_rows() const;
  void keep_memory_plan(const Progress& before);
  void behind_step(const std::function<void()>& work);
  void finish_step(Window& window);
  void tell_later(const Window& window, bool reads);
  void set_rates(std::int64_t update);
  void unfreeze_parameters(std::int64_t epoch);
  void add_unfrozen(std::size_t change, std::int64_t since);
  void forget_unfrozen();
  void learn_outcomes(std::size_t unknown);
  void meet(const detail::StepOutcomes::Step& step);
  void reload();
  std::size_t newest_unknown() const { return options_.device.is_cuda() ? 2 : 0; }
  bool save_is_due() const;
  std::optional<RunStatus> finish_epoch(const std::stop_token& stop);
  EpochReport report_of_training();
  std::optional<Evaluation> validate(const std::stop_token& stop);
  EvaluationOptions of_validation();
  double figure_of(const Evaluation& validation, const std::string& name, const char* wanted) const;
  void warn_of_figures(const Evaluation& validation, const std::set<std::string>& followed) const;
  void judge(EpochReport& report);
  void keep_best(const EpochReport& report);
  EarlyStoppingOptions early_stopping() const;
  bool is_stopped_early() const;
  void begin_epoch(std::int64_t epoch);
  bool is_trial() const { return options_.trial_steps > 0; }
  bool trial_epoch_ended() const;
  std::int64_t next_epoch() const;
  void seek_training_data();
  // What a save that failed comes to: a warning, an error once they are too many, an error.
  enum class OnFailure : unsigned char { warn, count, raise };

  void fill(Checkpoint& checkpoint) const;
  void save(bool must);
  void save_behind_step();
  void take_outcome(bool wait, OnFailure on_failure);
  void tell_of_failure(const SaveOutcome& outcome, OnFailure on_failure);
  RunResult result(RunStatus status) const;

  TrainerParts parts_;
  TrainerOptions options_;
  TrainerCallbacks callbacks_;
  Update update_;
  Progress progress_;
  std::int64_t steps_per_epoch_;
  double rate_ = 0.0;  // of groups whose factor is 1
  Selection selection_;
  Random random_;
  LossMeans losses_{true};                   // of the epoch
  std::unique_ptr<Metric> metric_;           // likewise; null where the course has none of training
  NanCases nan_{false};                      // that it has seen
  TensorMap fitted_;                         // by the newest validation
  std::optional<BestWeights> unsaved_best_;  // without tensors: those of the next save
  std::optional<WeightAverage> average_;
  detail::KeptBuffers buffers_;
  // Before the step at hand.
  struct Start {
    Position position = {};
    TensorMap rng = {};
    bool kept = false;  // the buffers, too
  };
  std::optional<Start> start_;
  std::int64_t counted_rows_ = 0;  // of the step to be done, by the metric of training
  detail::StepOutcomes outcomes_;
  bool reload_wanted_ = false;
  std::optional<std::int64_t> loader_epoch_;  // where the loader goes on by itself
  detail::Cutter clock_;
  StepTimes epoch_times_;
  std::int64_t epoch_steps_ = 0;
  double training_seconds_ = 0.0;
  detail::StepPace pace_;
  detail::ExposedCopy exposed_;
  detail::StepReports reports_;
  detail::Clock::time_point epoch_start_ = detail::Clock::now();
  std::optional<CheckpointWriter> writer_;  // none where there is no store
  bool save_waits_ = false;                 // one that was due while the writer was busy
  int failed_saves_ = 0;                    // in a row
  std::int64_t retry_at_ = 0;               // step from which on a save is tried again
};

}  // namespace headrace::inline v1::training
