#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/memory/memory_trend.h>
#include <headrace/monitor/memory/phase_memory.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// What a run's memory must fit, in bytes; 0: no limit is known.
struct MemoryLimits {
  std::uint64_t process = 0;
  std::uint64_t gpu = 0;
};

/// What is wrong with a run's memory.
struct MemoryRemark {
  std::string rule{};      ///< "tensors-grow", "process-grows", "fragmented", "gpu-nearly-full"
  std::string sentence{};  ///< with its figures
  double weight = 0.0;     ///< how bad it is, to be compared with the same rule's
};

/// Looks for what is wrong in the phases of a stage: memory that grows over its epochs, in tensors
/// and beside them, with the epoch in which a limit is reached; a GPU's memory in pieces; a GPU
/// that is nearly full. Each is said once, and again where it is twice as bad. Not thread-safe.
class HEADRACE_API MemoryJudge {
 public:
  /// The training of an epoch, numbered from 1, in a stage of so many.
  std::vector<MemoryRemark> after_training(std::int64_t epoch, std::int64_t epochs,
                                           const PhaseMemory& memory, const MemoryLimits& limits);
  /// Any other phase.
  std::vector<MemoryRemark> after(const PhaseMemory& memory, const MemoryLimits& limits);

  /// Growth over the epochs so far: of tensors, and of what the process holds beside them.
  std::optional<MemoryGrowth> tensor_growth() const { return tensors_.growth(); }
  std::optional<MemoryGrowth> process_growth() const { return beside_.growth(); }
  /// Whose part of what is held beside tensors grew the most since the first epoch that counts:
  /// "shared memory, 12.0 MiB to 140 MiB"; empty before there are two.
  std::string owner() const;

 private:
  bool is_news(const MemoryRemark& remark);

  MemoryTrend tensors_;
  MemoryTrend beside_;
  std::optional<PhaseMemory> before_;  // of the first epoch that counts
  std::optional<PhaseMemory> newest_;
  std::int64_t seen_ = 0;
  std::map<std::string, double> said_;  // weights
};

/// The GPU's allocator had to give back what it held, while more than a share of that (a quarter)
/// was not in tensors or lay in pieces: what is missing is no larger GPU.
HEADRACE_API std::optional<MemoryRemark> fragmented(const PhaseMemory& memory,
                                                    double most_unused = 0.25);

/// Tensors took more than a share (90 %) of the GPU.
HEADRACE_API std::optional<MemoryRemark> nearly_full(const PhaseMemory& memory,
                                                     const MemoryLimits& limits,
                                                     double from = 0.90);

}  // namespace headrace::inline v1::monitor
