#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/monitor/advice/loader_threads.h>
#include <headrace/monitor/advice/verdict.h>
#include <headrace/monitor/memory/memory_judge.h>
#include <headrace/monitor/memory/memory_trend.h>
#include <headrace/monitor/memory/phase_memory.h>
#include <headrace/monitor/stage_load.h>
#include <headrace/monitor/step_budget.h>
#include <headrace/monitor/system/cpu_usage.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// What samples of the machine came to over a window. Shares are means over the window's samples.
struct MachineFacts {
  std::size_t samples = 0;
  unsigned cores = 0;          ///< that the run may use; 0: unknown
  double machine_share = 0.0;  ///< busy share of all CPUs
  double process_share = 0.0;  ///< of `cores`, by the run's tree
  double io_pressure = -1.0;   ///< share of the time in which some task waited; negative: unknown
  double memory_pressure = -1.0;
  double read_per_s = 0.0;             ///< bytes that the run asked for
  double read_from_disk_per_s = 0.0;   ///< bytes that storage had to give
  std::uint64_t memory_room = 0;       ///< bytes that can still be taken
  std::uint64_t shared_room = 0;       ///< free in the mount of shared memory; 0: unknown
  std::vector<ProcessUsage> others{};  ///< not of the run, busiest first, mean over the window
  unsigned outside = 0;                ///< CPUs of the machine that the run may not use
};

/// A GPU over a window. Negative: not told.
struct GpuFacts {
  std::string name{};
  double busy_share = -1.0;
  double sm_active_share = -1.0;
  /// Share of samples below 30 % busy.
  double idle_samples_share = -1.0;
  std::uint64_t memory_total = 0;        ///< bytes; 0: unknown
  std::uint64_t memory_peak = 0;         ///< bytes, used by anybody
  double temperature_c = -1.0;           ///< the highest
  std::vector<std::string> throttled{};  ///< reasons in force in more than half of the samples
  std::vector<std::string> others{};     ///< processes that are not ours: "python 4711 (2.1 GiB)"
  bool our_context = false;              ///< the driver lists a process of ours
  std::uint64_t others_memory = 0;       ///< bytes that `others` hold; 0: unknown
  double busy_before = -1.0;             ///< the highest busy_share of the windows before
  double sm_clock_mhz = -1.0;            ///< mean
  double most_sm_clock_mhz = -1.0;
  double power_w = -1.0;  ///< mean
  double power_limit_w = -1.0;
};

/// How records are read that lie in pieces.
struct ReadFacts {
  double bytes_read = 0.0;  ///< from chunks, decompressed
  double bytes_used = 0.0;  ///< that went into samples
  std::string why{};        ///< "chunks of 64x64x64 for patches of 16x128x128"
  std::string setting{};    ///< the key or command that changes it
  std::string old_value{};
  std::string new_value{};
  double predicted = 0.0;           ///< read amplification with the new value; 0: unknown
  std::uint64_t memory_needed = 0;  ///< bytes that the new value takes beyond the old one
};

/// A batch's time and what it took: of a window, for variable cost.
struct BatchFacts {
  double mean_s = 0.0;
  double sd_s = 0.0;
  double size_correlation = 0.0;       ///< of a sample's time with its bytes, -1 to 1
  std::vector<std::string> slowest{};  ///< samples: "img/4711.jpg (1.2 s)"
};

/// Values that an advice shows as old, by the configuration's own key names, "threads.loader".
struct SettingFacts {
  int loader_threads = 0;
  int io_threads = 0;
  int torch_threads = 0;
  int prefetch = 0;
  std::int64_t batch = 0;
  std::string decode_device = "cpu";  ///< image.decode; empty: it has no such key
  bool has_cache = false;             ///< data.cache is set
  bool can_cache = false;             ///< the data have the key data.cache
  std::uint64_t data_bytes = 0;       ///< of the records as they lie; 0: unknown
  std::uint64_t decoded_bytes = 0;    ///< of all records decoded; 0: unknown
  std::vector<std::string> random_before_cache{};
  /// Keys of the configuration that are of use as it is, "data.stage"; empty: unknown, then those
  /// that every training has.
  std::vector<std::string> keys{};
  std::string device{};  ///< as configured: "auto"; empty: unknown
  std::int64_t accumulation = 1;
  std::string precision{};        ///< "fp32"; empty: unknown
  std::uint64_t resident = 0;     ///< data.resident, bytes
  bool decode_draws = false;      ///< the decoder draws its crop: nothing can be cached before it
  int picture_resize = 0;         ///< for image.resize, with which it does not; 0: unknown
  std::int64_t least_epochs = 1;  ///< that the schedule's warm-up leaves room for

  /// Whether a cache of decoded records would be accepted.
  bool may_cache() const { return !has_cache && !decode_draws && decode_device != "cuda"; }
};

/// What a run needs, known before its first step.
struct PlanFacts {
  std::uint64_t forecast = 0;  ///< bytes that the process will hold
  std::uint64_t limit = 0;     ///< bytes; 0: none
  std::string largest{};       ///< item of the forecast: "slabs 5.20 GiB"
};

/// Records of an epoch against what a batch takes.
struct RecordFacts {
  std::int64_t records = 0;
  std::int64_t batch = 0;
  bool drop_last = true;
};

/// All that the rules of advice look at: a window of a run, an epoch say. What is not known is
/// absent, and a rule that needs it is silent.
struct RunFacts {
  std::int64_t epoch = 0;   ///< from 1
  std::int64_t epochs = 0;  ///< of the stage
  StepBudget budget{};
  Verdict verdict{};
  LoaderLoad load{};
  std::optional<LoaderThreadTimes> threads{};  ///< of the time of `load`
  double reorder_wait_s = 0.0;                 ///< that finished batches waited for an earlier one
  double host_launch_wait_s = -1.0;  ///< the GPU had nothing queued though data were there
  std::optional<MachineFacts> machine{};
  bool gpu_wanted = false;  ///< the run computes on a GPU, was told to, or could not use one
  std::string no_gpu{};     ///< why it computes on none: "no driver"
  std::optional<bool> page_locked{};  ///< batches are copied to the device from page-locked memory
  std::optional<GpuFacts> gpu{};
  std::optional<ReadFacts> reads{};
  std::optional<BatchFacts> batches{};
  SettingFacts settings{};
  std::optional<PlanFacts> plan{};
  std::optional<RecordFacts> records{};
  MemoryLimits limits{};
  /// Growth of memory an epoch, bytes, with the bounds of its confidence interval.
  struct Growth {
    double slope = 0.0;
    double low = 0.0;
    double high = 0.0;
    std::string owner{};  ///< who grew most: "image cache", "beside tensors"
    std::int64_t first_epoch = 0;
    std::int64_t last_epoch = 0;
    std::uint64_t bytes = 0;  ///< at the last epoch
    /// What was held at most in it of all that has the limit, not only of what grows; 0: unknown.
    std::uint64_t most = 0;
  };
  std::optional<Growth> process_growth{};
  std::optional<Growth> tensor_growth{};
  struct Allocator {
    std::uint64_t reserved = 0;
    std::uint64_t allocated = 0;
    std::uint64_t inactive_split = 0;
    std::int64_t retries = 0;
    std::uint64_t peak = 0;           ///< of `allocated`
    std::uint64_t peak_reserved = 0;  ///< 0: unknown, as much as `reserved`
  };
  std::optional<Allocator> allocator{};
  struct Files {
    std::uint64_t open = 0;
    std::uint64_t limit = 0;  ///< soft
    std::uint64_t hard_limit = 0;
    std::uint64_t needed = 0;        ///< by the loader, at most
    std::uint64_t locked_limit = 0;  ///< RLIMIT_MEMLOCK, bytes
    std::uint64_t locked_needed = 0;
    std::uint64_t shared_room = 0;  ///< free in the mount of shared memory, bytes
    std::uint64_t shared_needed = 0;
  };
  std::optional<Files> files{};
  struct Learning {
    double accuracy = -1.0;
    double majority = -1.0;  ///< accuracy of always saying the most frequent class
    /// Mean over classes of the share of their cases that are found; negative: unknown.
    double mean_recall = -1.0;
    std::int64_t classes = 0;  ///< that have cases; of always saying one class it is 1 / classes
    std::string figure{};
  };
  std::optional<Learning> learning{};
  double seconds_left = -1.0;           ///< projected for the rest of the run
  double seconds_wanted = -1.0;         ///< budget of time for that; 0: used up; negative: none
  double seconds_passed = 0.0;          ///< since the run began
  std::int64_t epochs_left = -1;        ///< of all stages of all members; negative: of this stage
  std::vector<double> epoch_seconds{};  ///< of the stage's epochs so far
  /// That storage had to give since the stage began; negative: unknown.
  double bytes_from_storage = -1.0;
  /// Of each rank the share of time with a batch ready; empty: one rank.
  std::vector<double> rank_readiness{};
  std::vector<std::string> rank_stages{};  ///< the slowest stage of each; may be empty
};

/// Takes what a loader counted over the window: load, wait for order, kind of memory. The
/// statistics were reset at its start.
HEADRACE_API void fill(RunFacts& facts, const LoaderStats& stats);

/// Takes the allocator's counters of a phase; of a run without a GPU it has none.
HEADRACE_API void fill(RunFacts& facts, const PhaseMemory& memory);

/// What MemoryTrend found, as a fact; nothing of nothing.
HEADRACE_API std::optional<RunFacts::Growth> growth_facts(const std::optional<MemoryGrowth>& growth,
                                                          std::string owner = {});

}  // namespace headrace::inline v1::monitor
