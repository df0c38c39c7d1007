#pragma once

#include <headrace/apps/figures/reports.h>

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A stage that is about to be trained for a trial.
struct TriedStage {
  std::string member{};  ///< "fold 0"; empty where there is only one
  std::int64_t number = 0;
  std::string name{};
  std::int64_t epochs = 1;
  std::int64_t steps_per_epoch = 1;
  std::vector<std::int64_t> changes{};  ///< epochs from which on more is trained
  bool may_stop_early = false;
};

/// What a trial measured of a stage, or of its epochs from one change to the next. Times in
/// seconds.
struct TriedPart {
  TriedStage stage{};
  std::int64_t first = 0;   ///< its first epoch, which was tried
  std::int64_t epochs = 1;  ///< of the full run
  std::int64_t steps = 0;   ///< that were done
  /// Of these without the first of each call, which warms up, and without time for saves; of all
  /// where that leaves none.
  std::vector<monitor::StepTimes> times{};
  bool warm = false;          ///< whether `times` are without first steps
  double evaluation_s = 0.0;  ///< of a whole one
  double save_s = 0.0;        ///< of one checkpoint, waited for

  /// The mean wait for data, which comes in bursts, and the median of the rest.
  double step_s() const;
  /// Share of `step_s` in which the step waited for data.
  double data_wait() const;
  /// All of its epochs in the full run, with an evaluation and a checkpoint each.
  double full_s() const;
};

/// Something that the full run does once.
struct TriedOnce {
  std::string member{};
  std::string what{};  ///< "test"
  double seconds = 0.0;
};

/// A short run through every phase, `train --smoke`: it is told what happens, measures it, and asks
/// once in each stage for a stop, halfway through its steps, so that it is saved and resumed. Used
/// by the thread that trains.
class SmokeTrial {
 public:
  /// Of an epoch, and batches of an evaluation.
  explicit SmokeTrial(std::int64_t steps) : steps_(steps) {}
  std::int64_t steps() const { return steps_; }

  /// A call of TrainingRun::train begins, which `stop` stops.
  void begin_call(std::stop_source stop);
  void begin_stage(const TriedStage& stage);
  void on_step(const StepFacts& step);
  /// `full_s` is what an evaluation over all batches would take.
  void on_evaluation(std::int64_t epoch, double full_s);
  void on_checkpoint();
  void on_once(const TriedOnce& once) { once_.push_back(once); }

  const std::vector<TriedPart>& parts() const { return parts_; }
  const std::vector<TriedOnce>& once() const { return once_; }
  /// Stages that were stopped, saved and resumed.
  std::int64_t resumes() const { return resumes_; }

 private:
  using Clock = std::chrono::steady_clock;

  TriedPart& part_of(std::int64_t epoch);
  bool same_stage(const TriedStage& stage) const;

  std::int64_t steps_;
  std::vector<TriedPart> parts_;
  std::vector<TriedOnce> once_;
  std::size_t stage_parts_ = 0;  // number of the stage's first
  bool stop_asked_ = false;      // in the stage
  bool resuming_ = false;        // a stop was asked for, and no stage has begun since
  std::int64_t resumes_ = 0;
  std::stop_source stop_;
  std::int64_t warm_epoch_ = -1;           // that has had its first step in this call
  Clock::time_point told_ = Clock::now();  // when the newest step or evaluation was told of
  double saved_s_ = 0.0;                   // since the newest step
};

}  // namespace headrace::inline v1::app
