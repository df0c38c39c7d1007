#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/models/network.h>
#include <headrace/training/adamw.h>
#include <headrace/training/checkpoint.h>
#include <headrace/training/checkpoint_store.h>
#include <headrace/training/early_stopping.h>
#include <headrace/training/evaluation.h>
#include <headrace/training/example.h>
#include <headrace/training/schedules.h>
#include <headrace/training/update.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace headrace::inline v1::training {

/// Where the wall time of a step went, in seconds; the four parts sum to the whole. On a GPU work
/// is queued and the host keeps at most two micro-batches ahead of it: compute holds the time in
/// which it waits for that, so parts are right over many steps and not in each.
struct StepTimes {
  double data_wait = 0.0;  ///< blocked until the loader had a batch
  double copy = 0.0;     ///< making an example of it (copy to the device, layout, dtype) and, of a
                         ///< GPU, the time in which its stream waited for a batch's copy
  double compute = 0.0;  ///< forward, backward, optimiser
  double other = 0.0;    ///< the rest: checkpoints, callbacks, bookkeeping since the step before

  double total() const { return data_wait + copy + compute + other; }
  StepTimes& operator+=(const StepTimes& more);
};

/// One optimiser step.
struct StepReport {
  std::int64_t epoch = 0;
  std::int64_t step = 0;           ///< since the start of the run, this one counted
  std::int64_t samples = 0;        ///< rows of this step
  std::int64_t epoch_samples = 0;  ///< rows of the epoch so far
  double learning_rate = 0.0;
  std::optional<double> loss = {};  ///< mean of the step, where it was read
  std::optional<double> gradient_norm =
      {};  ///< before clipping, where the loss was read and gradients are clipped
  StepTimes times = {};
};

/// One epoch. Training figures are of the network while it learned.
struct EpochReport {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double learning_rate = 0.0;       ///< that the epoch ended with
  double next_learning_rate = 0.0;  ///< after the plateau schedule has seen its evaluation
  double train_loss = 0.0;
  std::optional<models::ConfusionMatrix> train_confusion = {};
  std::optional<Evaluation> validation = {};
  double metric = 0.0;  ///< that selects, NaN without validation
  bool improved = false;
  StepTimes times = {};           ///< sum of this process's steps in the epoch
  double training_seconds = 0.0;  ///< wall time of the steps: what `times` sum to
  std::int64_t steps = 0;         ///< of this process in the epoch
  double seconds = 0.0;  ///< from its first step to the end of its evaluation, in this process
};

struct TrainerOptions {
  std::int64_t epochs = 1;
  std::int64_t accumulation =
      1;  ///< micro-batches of a step; the last step of an epoch takes what is left
  double clip_norm = 0.0;  ///< 0: none
  Precision precision = Precision::fp32;
  at::Device device = at::kCPU;
  std::int64_t classes = 0;  ///< of confusion matrices; 0: none
  /// Learning rate of a step, counted from 0; empty: the optimiser's, or the plateau's. Not with
  /// `plateau`.
  std::function<double(std::int64_t step)> schedule = {};
  std::optional<PlateauOptions> plateau = {};  ///< on the validation loss
  std::optional<EarlyStoppingOptions> early_stopping = {};
  /// What early stopping and `best.safetensors` go by; empty: accuracy where there are classes,
  /// else minus the loss.
  std::function<double(const Evaluation&)> metric = {};
  /// Given the logits of every validation batch, in order and before `metric` is asked; batch 0
  /// begins an evaluation, which a stop may break off.
  std::function<void(const Batch& batch, const Example& example, const at::Tensor& logits)>
      on_validation_logits = {};
  std::int64_t checkpoint_every =
      0;                 ///< steps; 0: after the first step, each epoch and an interruption only
  int failed_saves = 3;  ///< checkpoints in a row that may fail before training ends with the error
  std::int64_t read_loss_every =
      0;  ///< steps; on a GPU it arrives later, nothing waits. 0: 1 on the CPU, 16 on a GPU
  /// What a checkpoint must agree on; see `Checkpoint::identity`.
  std::map<std::string, std::string> identity = {};
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
  std::function<void(const std::filesystem::path&, const Progress&)> on_checkpoint = {};
  std::function<void(const std::string& message)> on_warning = {};
};

enum class RunStatus : unsigned char { finished, stopped_early, interrupted };

struct RunResult {
  RunStatus status = RunStatus::finished;
  Progress progress = {};
  std::optional<double> best_metric = {};
  std::int64_t best_epoch = -1;
};

/// What is trained, with what. All but the values outlives the trainer; `validation` and
/// `checkpoints` may be null.
struct TrainerParts {
  models::Network& network;
  AdamW& optimizer;
  Loss loss;
  Unpack unpack;
  Loader& train;
  Loader* validation = nullptr;
  CheckpointStore* checkpoints = nullptr;
};

/// The loop over epochs: data, forward, backward, step, evaluation, schedule, early stopping,
/// checkpoints. A run that was interrupted at any step and resumed ends with the same weights as
/// one that was not, bit for bit on a CPU with the same number of threads. Not thread-safe, but a
/// stop may be asked for from anywhere.
class HEADRACE_API Trainer {
 public:
  /// Throws `ConfigError` for options that contradict each other, `DataError` for a loader that
  /// gives no batch.
  Trainer(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks = {});
  ~Trainer();

  /// Goes on from a checkpoint: weights, optimiser, schedules, generators and place in the data.
  /// Throws `CheckpointError` if it belongs to another run, network or order.
  void restore(const Checkpoint& checkpoint);

  /// The state of now, between steps.
  Checkpoint checkpoint() const;

  const Progress& progress() const;

  /// Trains until the last epoch, early stopping, or `stop`: then the step at hand is finished and
  /// a checkpoint saved. Throws `NumericError` when a loss is not finite (one that is read, or
  /// before a checkpoint or an epoch's end the sum of all), `CheckpointError`, and what the loaders
  /// throw.
  RunResult run(std::stop_token stop = {});

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace headrace::inline v1::training
