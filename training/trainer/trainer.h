#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/models/networks/network.h>
#include <headrace/monitor/step_budget.h>
#include <headrace/training/checkpoint/checkpoint.h>
#include <headrace/training/checkpoint/checkpoint_store.h>
#include <headrace/training/evaluation/evaluation.h>
#include <headrace/training/optimizer/update.h>
#include <headrace/training/optimizer/weight_average.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// Where the wall time of a step went. On a GPU work is queued and the host keeps at most two
/// micro-batches ahead of it: compute holds the time in which it waits for that, so parts are right
/// over many steps and not in each. Copy is making an example of a batch (copy to the device,
/// layout, dtype) and, of a GPU, the time in which its stream waited for a batch's copy; other is
/// the rest: checkpoints, callbacks, bookkeeping since the step before.
using StepTimes = monitor::StepTimes;

/// One optimiser step.
struct StepReport {
  std::int64_t epoch = 0;
  std::int64_t step = 0;           ///< since the start of the stage, this one counted
  std::int64_t samples = 0;        ///< rows of this step
  std::int64_t epoch_samples = 0;  ///< rows of the epoch so far
  double learning_rate = 0.0;
  std::optional<double> loss = {};  ///< mean of the step, where it was read
  Figures terms = {};  ///< its terms as `EpochReport::train` names them, where there are several
  std::optional<double> gradient_norm = {};  ///< before clipping, where the loss was read
  StepTimes times = {};
};

/// One epoch. Training figures are of the network while it learned.
struct EpochReport {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  std::int64_t skipped = 0;         ///< steps of the epoch whose gradient was not finite
  double learning_rate = 0.0;       ///< that the epoch ended with
  double next_learning_rate = 0.0;  ///< after the plateau schedule has seen its evaluation
  Figures train = {};               ///< "loss", its terms, then those of the course's metric
  std::optional<Evaluation> validation = {};
  std::string selected_by = {};  ///< the figure of the validation that selects
  double metric = 0.0;           ///< its value; NaN without validation
  bool improved = false;
  StepTimes times = {};           ///< sum of this process's steps in the epoch
  double training_seconds = 0.0;  ///< wall time of the steps: what `times` sum to
  std::int64_t steps = 0;         ///< of this process in the epoch
  double seconds = 0.0;  ///< from its first step to the end of its evaluation, in this process
};

/// A step whose loss or gradients were not finite.
struct BadStep {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  ///< of the stage, from 1
  double loss = 0.0;
  double gradient_norm = 0.0;
  std::vector<Origin> samples = {};  ///< of all its micro-batches
  std::string done = {};             ///< "skipped", "reloaded" or "aborted"
};

struct TrainerOptions {
  at::Device device = at::kCPU;
  std::uint64_t seed = 0;  ///< of what a course draws; each member has its own
  std::int64_t stage = 0;  ///< number of the stage in its course
  /// Steps; 0: after the first step, each epoch and an interruption only. They are written while
  /// training goes on, one at a time: one that is due while another is written comes behind it.
  std::int64_t checkpoint_every = 0;
  /// Checkpoints in a row that may fail before training ends with the error. After each the next
  /// comes later, by twice the steps.
  int failed_saves = 3;
  /// Steps; on a GPU it arrives later, nothing waits. 0: 1 on the CPU, 16 on a GPU.
  std::int64_t read_loss_every = 0;
  /// A trial: an epoch ends after so many steps, an evaluation after so many batches, and of the
  /// epochs there are the first and those that unfreeze something. Schedules are those of the whole
  /// stage, patience is without end, and each evaluation selects. 0: no trial.
  std::int64_t trial_steps = 0;
  /// What a checkpoint must agree on; see `Checkpoint::identity`.
  std::map<std::string, std::string> identity = {};
  /// Names of it that are as they would be had nobody said anything; see `require_same_identity`.
  std::set<std::string> defaults = {};
  std::map<std::string, std::string> notes = {};  ///< see `Recipe::notes`
};

/// All are called by the thread that trains; an exception ends the run.
struct TrainerCallbacks {
  /// Once a step, in order. On the CPU before the next step begins; on a GPU some steps later, with
  /// the loss that was copied behind the step, and before a checkpoint or an evaluation. Where a
  /// run on a GPU ends with an exception, its last steps may stay untold.
  std::function<void(const StepReport&)> on_step = {};
  /// Behind the last step of an epoch, which was told of, and before its evaluation.
  std::function<void()> on_train_epoch_end = {};
  std::function<void(const EpochReport&)> on_epoch = {};
  /// A checkpoint is durable: at the step, the epoch's end or the return of `run` that finds it so.
  std::function<void(const std::filesystem::path&, const Progress& saved)> on_checkpoint = {};
  /// Before it is skipped, or ends the run. Overflows of fp16 under a finite loss are none.
  std::function<void(const BadStep&)> on_bad_step = {};
  /// A change inside a stage, in a sentence.
  std::function<void(const std::string& message)> on_change = {};
  std::function<void(const std::string& message)> on_warning = {};
};

enum class RunStatus : unsigned char { finished, stopped_early, interrupted };

struct RunResult {
  RunStatus status = RunStatus::finished;
  Progress progress = {};
  std::optional<double> best_metric = {};
  std::int64_t best_epoch = -1;
  std::int64_t steps = 0;  ///< of the whole stage, as `Moment::steps`
};

/// What is trained, with what. All of it outlives the trainer; `validation` and `checkpoints` may
/// be null.
struct TrainerParts {
  const Course& course;
  const Stage& stage;
  models::Network& network;
  Optimizer& optimizer;
  Loader& train;
  Loader* validation = nullptr;
  CheckpointStore* checkpoints = nullptr;
};

/// One stage of a course, the loop over its epochs: data, forward, backward, step, evaluation,
/// schedule, early stopping, checkpoints. A run that was interrupted at any step and resumed ends
/// with the same weights as one that was not, bit for bit on a CPU with the same number of threads.
/// Not thread-safe, but a stop may be asked for from anywhere.
class HEADRACE_API Trainer {
 public:
  /// Throws `ConfigError` for a stage that contradicts itself, `DataError` for a loader that gives
  /// no batch.
  Trainer(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks = {});
  ~Trainer();

  /// Goes on from a checkpoint: weights, optimiser, schedules, generators and place in the data.
  /// Throws `CheckpointError` if it belongs to another run, stage, network or order.
  void restore(const Checkpoint& checkpoint);

  /// The state of now, between steps.
  Checkpoint checkpoint() const;

  const Progress& progress() const;

  /// The averaged weights; null where the stage averages none. Lives as long as the trainer.
  WeightAverage* average();

  /// Trains until the last epoch, early stopping, or `stop`: then the step at hand is finished. The
  /// checkpoint of the end is durable when it returns. A step whose loss or gradients are not
  /// finite changes nothing, and `Stage::non_finite` says what else follows (on a GPU that is known
  /// two steps later); the schedule does not go on over it. Throws `ConfigError` where the
  /// validation has no figure of the name that selects or that a plateau goes by, `NumericError`
  /// where that policy ends the run or a weight is not finite before it would be saved,
  /// `CheckpointError`, and what the loaders throw.
  RunResult run(std::stop_token stop = {});

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace headrace::inline v1::training
