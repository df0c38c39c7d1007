#pragma once

#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/backend/smoke_trial.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/figures/test_review.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/memory/memory_plan.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/monitor/memory/memory_watch.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where a run computes.
struct ChosenDevice {
  Device device{};
  std::string why{};     ///< for a person: "cpu (auto: this machine has no GPU)"
  std::string no_gpu{};  ///< why DeviceChoice::automatic found none that can be used
};

/// A job's members (folds, pairs of classes), trained one after the other. Not thread-safe.
class TrainingRun {
 public:
  TrainingRun() = default;
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  virtual ~TrainingRun() = default;

  /// The numbers of the members that are to be trained.
  virtual std::vector<std::int64_t> members() const = 0;
  /// What the memory of its stages depends on beside the configuration: fields of batches, the
  /// network's size, the device. Empty: nothing of it can be measured.
  virtual std::string memory_key() const = 0;
  /// Takes steps of its stages on placeholders; reads no samples. For a process that does nothing
  /// else. Throws what these steps throw, but for a lack of memory.
  virtual MeasuredMemory measure(const MeasureOptions& options) const = 0;
  /// All that each stage will hold in memory; reads no samples. Makes the network and tries it on
  /// the device. Limits are the caller's to fill in. Throws ConfigError; CheckpointError for
  /// weights that do not fit.
  virtual MemoryPlan plan(const MeasuredMemory& measured) const = 0;
  /// Takes steps of the first stage of the first member for a bounded time, after `open`, and says
  /// how fast they were: its own pipeline, network, loss and optimiser; nothing is evaluated or
  /// written. For a process that does nothing else. Throws what training throws, ResourceError
  /// where a step ran out of memory.
  virtual PaceResult pace(const PaceOptions& options) const = 0;
  /// From now on members are trained and tested only as far as the trial goes, which is told of it
  /// and outlives the run.
  virtual void try_out(SmokeTrial& trial) = 0;
  /// Reads what is kept in memory; gives its bytes.
  virtual std::uint64_t open() = 0;
  /// Trains a member into a folder of its name in `folder`; goes on where it stopped when there is
  /// something there.
  virtual FoldOutcome train(std::int64_t member, const std::filesystem::path& folder, RunView& view,
                            const monitor::MemoryWatch& memory, std::stop_token stop) = 0;
  /// What each member that is done came to, by now or before, in their order.
  virtual std::vector<FoldOutcome> finished(const std::filesystem::path& folder) const = 0;
  /// Most bytes of the GPU that tensors had reserved in this process; nothing without a GPU.
  virtual std::optional<std::uint64_t> most_reserved() const = 0;
  /// Workers of the run's loaders, whose memory can be lowered.
  virtual Runtime runtime() const = 0;
  /// Bytes of the host that tensors hold at this moment; 0 where they are not counted. Thread-safe.
  virtual std::uint64_t tensor_bytes() const = 0;
  /// What LibTorch's allocator of the GPU counts; nothing without one. Thread-safe.
  virtual std::optional<monitor::AllocatorCounters> allocator() const = 0;
  /// Looks back at the test once members are done; nothing where `stop` asked to end before.
  virtual std::optional<TestReview> review(const std::filesystem::path& folder,
                                           std::stop_token stop) const = 0;
};

/// What a program that trains needs of LibTorch, whose headers bring another fmt with them: no file
/// includes both. Implemented in `program/backend_torch.h`.
class TrainingBackend {
 public:
  TrainingBackend() = default;
  TrainingBackend(const TrainingBackend&) = delete;
  TrainingBackend& operator=(const TrainingBackend&) = delete;
  virtual ~TrainingBackend() = default;

  virtual std::string version() const = 0;
  /// Of CUDA, "13.0", that it was built for; empty: for the CPU alone. Opens its library.
  virtual std::string cuda_version() const = 0;
  /// Threads of an operator; called by the thread that trains.
  virtual void set_threads(int threads) = 0;
  /// Tensors of the device may take so many bytes from now on, as on a smaller one; 0: no limit.
  virtual void limit_memory(const Device& device, std::uint64_t bytes) = 0;
  /// Throws DeviceError when a GPU was asked for and cannot be used.
  virtual ChosenDevice choose_device(DeviceChoice choice) = 0;
  /// Checks the data; reads labels and the like, but no samples. Throws DataError, ConfigError.
  virtual std::unique_ptr<TrainingRun> make_run(const TrainingJob& job,
                                                const ChosenDevice& device) = 0;
  /// `headrace predict`, `headrace evaluate` and `headrace export`.
  virtual ExitCode predict(const PredictOptions& options) = 0;
  virtual ExitCode evaluate(const EvaluateOptions& options) = 0;
  virtual ExitCode export_weights(const ExportOptions& options) = 0;
  /// Runs a command. What LibTorch and training/ throw leaves it as a Failure with its exit code.
  virtual ExitCode run(const std::function<ExitCode()>& command) = 0;
};

}  // namespace headrace::inline v1::app
