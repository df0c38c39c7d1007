#include <headrace/monitor/advice/advice_rules.h>
#include <headrace/monitor/advice/detail/rules.h>

#include <algorithm>

namespace headrace::inline v1::monitor {
namespace {

std::vector<AdviceRule> input_rules() {
  return {
      {.number = 2,
       .names = {"raise-threads", "raise-io-threads", "raise-limit", "raise-prefetch"},
       .when = "the trainer waits for data, the slowest stage's threads are full, and process and "
               "machine have CPU to spare or the threads sleep; or they are not full and only the "
               "reserve is missing",
       .says = "more of what that stage runs on: workers, I/O threads, its own limit, or batches "
               "ahead",
       .thresholds = {"moderate_stall", "high_stall", "full_pool", "spare_cpu", "full_cpu",
                      "on_cpu"},
       .look = detail::raise_concurrency},
      {.number = 3,
       .names = {"cheaper-step"},
       .when = "the trainer waits for data, the slowest stage runs on the workers and the CPU is "
               "full, or there is a worker for every core",
       .says = "more threads will not help: keep what is decoded, decode on the GPU, or a cheaper "
               "operation, by name and share",
       .thresholds = {"moderate_stall", "high_stall", "full_cpu"},
       .look = detail::cheaper_work},
      {.number = 4,
       .names = {"faster-storage"},
       .when = "the trainer waits for reads, tasks wait for storage, and most bytes come from it",
       .says = "bring the data nearer: memory, a local disk, a cache, with bytes needed and free",
       .thresholds = {"moderate_stall", "high_stall", "storage_pressure", "from_storage"},
       .look = detail::slow_storage},
      {.number = 5,
       .names = {"cold-pages"},
       .when = "a later epoch is as slow as the first and reads from storage, of which more than "
               "all data were read before, though they would fit in free memory",
       .says = "the page cache is not used: why, and what keeps the data in memory",
       .thresholds = {"moderate_stall", "same_epoch", "read_again", "from_storage"},
       .look = detail::cold_pages},
      {.number = 6,
       .names = {"chunk-shape"},
       .when = "of what is unpacked from chunks little is used",
       .says = "the chunks' shape against what is read, and the command that writes others",
       .thresholds = {"read_amplification"},
       .look = detail::chunk_shape}};
}

std::vector<AdviceRule> order_rules() {
  return {
      {.number = 11,
       .names = {"slow-sample"},
       .when = "the trainer waits for data while batches behind the next one are ready, and the "
               "threads are not full",
       .says = "one slow sample holds the line: more batches under way, and the slowest by name",
       .thresholds = {"moderate_stall", "reorder_share", "full_pool"},
       .look = detail::slow_sample},
      {.number = 12,
       .names = {"variable-cost"},
       .when = "the trainer waits for data, batches' times spread, and a sample's time grows with "
               "its size",
       .says = "records of one size, or grouped by it",
       .severity = Severity::notice,
       .patience = 2,
       .thresholds = {"moderate_stall", "batch_spread", "size_correlation"},
       .look = detail::variable_cost}};
}

std::vector<AdviceRule> device_rules() {
  return {
      {.number = 1,
       .names = {"gpu-unused"},
       .when =
           "a GPU is configured, or device: auto cannot use one that is there, steps were done, "
           "and they ran on the CPU or no kernel ran",
       .says = "training runs on the CPU, and why",
       .severity = Severity::error,
       .thresholds = {"idle_gpu"},
       .enforced = "device: cuda ends a run before its first step (exit code 7)",
       .look = detail::gpu_unused},
      {.number = 7,
       .names = {"launch-gaps"},
       .when =
           "the trainer does not wait for data, the GPU is half idle, and nothing was queued for "
           "it; where that is not measured, it is starved and neither data nor copies explain it",
       .says = "not data: larger batches, fewer threads beside the launching one, fewer launches",
       .thresholds = {"moderate_stall", "half_busy_gpu", "starved_gpu", "launch_wait", "host_cpu",
                      "half_empty_gpu"},
       .look = detail::launch_gaps},
      {.number = 8,
       .names = {"compute-bound"},
       .when = "the GPU is busy and the trainer does not wait for data",
       .says = "stop tuning the input, and what headroom it has",
       .severity = Severity::info,
       .thresholds = {"moderate_stall", "busy_gpu"},
       .look = detail::compute_bound},
      {.number = 10,
       .names = {"exposed-copies", "smaller-transfer"},
       .when = "copies to the GPU take a part of the steps that its work does not hide, or the "
               "transfer is the slowest stage",
       .says = "page-locked memory, more batches for the copies to run ahead, or fewer bytes",
       .thresholds = {"exposed_copy", "moderate_stall", "high_stall"},
       .look = detail::exposed_copies},
      {.number = 18,
       .names = {"throttled"},
       .when = "the driver gives a reason for lower clocks, or the GPU is hot",
       .says = "power or cooling, not code",
       .patience = 2,
       .thresholds = {"gpu_temperature_c"},
       .look = detail::throttled_clocks}};
}

std::vector<AdviceRule> machine_rules() {
  return {
      {.number = 9,
       .names = {"noisy-loader"},
       .when = "the trainer does not wait for data, the machine's CPU is busy, and the GPU is less "
               "busy than it was",
       .says = "fewer workers, or a core kept free for the launching thread",
       .severity = Severity::notice,
       .patience = 2,
       .thresholds = {"moderate_stall", "host_cpu", "busy_fall"},
       .look = detail::noisy_loader},
      {.number = 19,
       .names = {"cpu-shared", "gpu-shared"},
       .when =
           "processes that are not the run's use its cores, or hold memory of its GPU; they do "
           "harm where the CPU is full and the loader's threads, which are waited for, wait for "
           "cores as long as they sleep, or longer",
       .says = "their names, numbers and shares",
       .thresholds = {"other_cpu", "spare_cpu", "queued", "on_cpu", "other_gpu_memory",
                      "moderate_stall", "starved_gpu"},
       .look = detail::shared_machine},
      {.number = 20,
       .names = {"file-limit", "locked-limit", "shared-memory"},
       .when = "a limit of open files, of locked memory, or the mount of shared memory is smaller "
               "than what the run needs",
       .says = "the limit, and the command that raises it",
       .thresholds = {"open_files"},
       .look = detail::small_limits},
      {.number = 24,
       .names = {"straggler"},
       .when = "one rank has seldom a batch ready while the middle one nearly always has",
       .says = "that rank, and its slowest stage",
       .patience = 2,
       .thresholds = {"low_readiness", "good_readiness"},
       .look = detail::straggler}};
}

std::vector<AdviceRule> memory_rules() {
  return {
      {.number = 13,
       .names = {"process-grows"},
       .when = "what the process holds beside tensors grows over the epochs, beyond chance",
       .says = "whose part grew, and the epoch in which a limit is reached",
       .patience = 2,
       .thresholds = {"growth"},
       .look = detail::process_grows},
      {.number = 14,
       .names = {"tensors-grow"},
       .when = "memory in tensors grows over the epochs, beyond chance",
       .says = "something keeps tensors, and the epoch in which a limit is reached",
       .patience = 2,
       .thresholds = {"growth"},
       .look = detail::tensors_grow},
      {.number = 15,
       .names = {"fragmented"},
       .when = "the allocator gave back what it held, and much of what it holds is unused or in "
               "pieces",
       .says = "segments that grow; a larger GPU is not what is missing",
       .thresholds = {"unused_reserved"},
       .look = detail::memory_in_pieces},
      {.number = 16,
       .names = {"gpu-nearly-full", "gpu-memory-free"},
       .when =
           "tensors' peak leaves little of the GPU's memory; or half of it, and the GPU has time",
       .says = "a smaller batch with accumulation; or the largest safe batch, to be tried",
       .thresholds = {"nearly_full_gpu", "half_empty_gpu", "busy_gpu"},
       .look = detail::gpu_memory},
      {.number = 17,
       .names = {"memory-forecast"},
       .when = "the forecast of memory is above its limit",
       .says = "what is missing, and what to shrink",
       .severity = Severity::error,
       .thresholds = {"forecast"},
       .enforced = "every program refuses it before its first read (exit code 4)",
       .look = detail::memory_forecast}};
}

std::vector<AdviceRule> run_rules() {
  return {
      {.number = 21,
       .names = {"no-batch"},
       .when = "an epoch has no batch: no record, or fewer than a batch takes",
       .says = "records, batch, and what fits",
       .severity = Severity::error,
       .thresholds = {"least_batches"},
       .enforced = "building the loader refuses it before the first read (exit code 3)",
       .look = detail::no_batch},
      {.number = 22,
       .names = {"majority-class"},
       .when = "after some epochs the validation is no better than always saying the most frequent "
               "class, and finds no more of each class than that, in the mean",
       .says = "labels or learning rate, and the command that shows samples",
       .patience = 2,
       .thresholds = {"epochs_to_learn", "above_majority"},
       .look = detail::majority_class},
      {.number = 23,
       .names = {"time-budget"},
       .when = "the projected time is above what was wanted",
       .says = "what the time is spent on, and what each change would give",
       .thresholds = {"time_budget"},
       .look = detail::time_budget}};
}

std::vector<AdviceRule> all_rules() {
  std::vector<AdviceRule> all;
  for (const auto& rules :
       {input_rules(), order_rules(), device_rules(), machine_rules(), memory_rules(), run_rules()})
    all.insert(all.end(), rules.begin(), rules.end());
  std::ranges::sort(all, {}, &AdviceRule::number);
  return all;
}

}  // namespace

std::span<const AdviceRule> advice_rules() {
  static const std::vector<AdviceRule> rules = all_rules();
  return rules;
}

}  // namespace headrace::inline v1::monitor
