#include <headrace/engine/base/error.h>
#include <headrace/monitor/advice/advice_thresholds.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

using T = AdviceThresholds;

constexpr std::string_view tensorflow = "TensorFlow Profiler, input-pipeline analyzer";
constexpr std::string_view kineto = "PyTorch profiler (Kineto)";
constexpr std::string_view ours = "ours";

constexpr std::array threshold_table{
    AdviceThreshold{"moderate_stall", &T::moderate_stall, "data wait / wall time of the steps",
                    tensorflow},
    AdviceThreshold{"high_stall", &T::high_stall, "likewise, and exposed copies / wall time",
                    tensorflow},
    AdviceThreshold{"full_pool", &T::full_pool, "busy time of a pool's threads / their time", ours},
    AdviceThreshold{"spare_cpu", &T::spare_cpu, "CPU of the process / cores it may use", ours},
    AdviceThreshold{"full_cpu", &T::full_cpu, "likewise", "SageMaker Debugger, CPUBottleneck"},
    AdviceThreshold{"storage_pressure", &T::storage_pressure,
                    "time in which a task waited for storage / time", ours},
    AdviceThreshold{"from_storage", &T::from_storage, "bytes from storage / bytes asked for", ours},
    AdviceThreshold{"same_epoch", &T::same_epoch, "time of the newest epoch / of the first", ours},
    AdviceThreshold{"read_again", &T::read_again,
                    "bytes from storage since the stage began / bytes of the data", ours},
    AdviceThreshold{"read_amplification", &T::read_amplification, "bytes unpacked / bytes used",
                    ours},
    AdviceThreshold{"reorder_share", &T::reorder_share,
                    "waits of ready batches for an earlier one / data wait", ours},
    AdviceThreshold{"batch_spread", &T::batch_spread, "standard deviation / mean of a batch's time",
                    "Lotus: 5 to 15 % is usual"},
    AdviceThreshold{"size_correlation", &T::size_correlation,
                    "correlation of a sample's time with its bytes", ours},
    AdviceThreshold{"idle_gpu", &T::idle_gpu, "GPU busy", ours},
    AdviceThreshold{"starved_gpu", &T::starved_gpu, "GPU busy, and its samples below that", ours},
    AdviceThreshold{"half_busy_gpu", &T::half_busy_gpu, "GPU busy", kineto},
    AdviceThreshold{"busy_gpu", &T::busy_gpu, "GPU busy", ours},
    AdviceThreshold{"launch_wait", &T::launch_wait,
                    "time without anything queued / wall time of the steps",
                    "TensorFlow Profiler, kernel launch"},
    AdviceThreshold{"exposed_copy", &T::exposed_copy, "exposed copies / wall time of the steps",
                    ours},
    AdviceThreshold{"gpu_temperature_c", &T::gpu_temperature_c, "highest temperature, degrees",
                    ours},
    AdviceThreshold{"host_cpu", &T::host_cpu, "CPU of the machine", "SPDL, noisy neighbour"},
    AdviceThreshold{"busy_fall", &T::busy_fall, "best GPU busy so far - GPU busy", ours},
    AdviceThreshold{"other_cpu", &T::other_cpu, "cores that others use / cores of the run", ours},
    AdviceThreshold{"queued", &T::queued, "time that workers wait for a core / their busy time",
                    ours},
    AdviceThreshold{"on_cpu", &T::on_cpu,
                    "CPU of the process / busy time of all stages, where that is not known", ours},
    AdviceThreshold{"other_gpu_memory", &T::other_gpu_memory, "memory others hold / of the GPU",
                    ours},
    AdviceThreshold{"open_files", &T::open_files, "open files / their limit", ours},
    AdviceThreshold{"low_readiness", &T::low_readiness,
                    "time with a batch ready / time, of the lowest rank", "SPDL, fleet metrics"},
    AdviceThreshold{"good_readiness", &T::good_readiness, "likewise, of the middle rank", ours},
    AdviceThreshold{"growth", &T::growth,
                    "lower bound of the slope (Theil-Sen, 90 %), bytes an epoch", ours},
    AdviceThreshold{"unused_reserved", &T::unused_reserved,
                    "reserved memory not in tensors, or in pieces / reserved", ours},
    AdviceThreshold{"nearly_full_gpu", &T::nearly_full_gpu, "tensors' peak / memory of the GPU",
                    kineto},
    AdviceThreshold{"half_empty_gpu", &T::half_empty_gpu, "memory's peak / memory of the GPU",
                    ours},
    AdviceThreshold{"forecast", &T::forecast, "forecast of memory / limit", ours},
    AdviceThreshold{"least_batches", &T::least_batches, "batches of an epoch", ours},
    AdviceThreshold{"above_majority", &T::above_majority,
                    "(accuracy - most frequent class) / (1 - most frequent class)", ours},
    AdviceThreshold{"epochs_to_learn", &T::epochs_to_learn, "epochs before it is said", ours},
    AdviceThreshold{"time_budget", &T::time_budget, "time left / time wanted", ours}};

}  // namespace

std::span<const AdviceThreshold> advice_thresholds() {
  return threshold_table;
}

void set(AdviceThresholds& values, std::string_view name, double value) {
  const auto* const found = std::ranges::find(threshold_table, name, &AdviceThreshold::name);
  if (found == threshold_table.end())
    throw ConfigError(
        fmt::format("[advice] a threshold has one of the names in docs/advice.md, got "
                    "\"{}\"",
                    name));
  if (!(value >= 0))
    throw ConfigError(fmt::format("[advice] {} is at least 0, got {}", name, value));
  values.*found->value = value;
}

}  // namespace headrace::inline v1::monitor
