#include <headrace/monitor/advice/detail/rule_parts.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::monitor::detail {
namespace {

// Of every kind that trains.
constexpr std::array<std::string_view, 9> common_keys{"device",
                                                      "threads.loader",
                                                      "threads.io",
                                                      "threads.torch",
                                                      "data.prefetch",
                                                      "training.batch",
                                                      "training.accumulation",
                                                      "training.precision",
                                                      "training.epochs"};

// What the workers did while they had work.
struct WorkerTime {
  double busy_s = 0.0;     // above 0
  double at_work_s = 0.0;  // on a core, or waiting for one
  double queued_s = 0.0;   // waiting for one, at least

  double asleep_s() const { return busy_s - at_work_s; }
};

// Where they are what is waited for, as a pool: beside a slower stage of transfers, or one with a
// limit of its own, most are idle. Idle ones look for work for a while, on a full machine all the
// time, and may have queued for that. Reads are no pool of one kind: workers do those that need not
// wait.
std::optional<WorkerTime> waited_for_workers(const RunFacts& facts) {
  if (!facts.threads || facts.verdict.stages.empty()) return std::nullopt;
  const StageCapacity& slowest = facts.verdict.stages.front();
  if (slowest.role != StageRole::worker || slowest.own_limit) return std::nullopt;
  WorkerTime time;
  for (const StageLoad& stage : facts.load.stages)
    if (stage.role == StageRole::worker) time.busy_s += stage.busy_s;
  if (!(time.busy_s > 0.0)) return std::nullopt;
  const ThreadTime& told = facts.threads->workers;
  const double idle_s = std::max(0.0, facts.load.threads * facts.load.elapsed_s - time.busy_s);
  time.at_work_s = std::clamp(told.cpu_s + told.queued_s, 0.0, time.busy_s);
  time.queued_s = std::clamp(told.queued_s - idle_s, 0.0, time.at_work_s);
  return time;
}

// A guess: a trainer that works beside threads that sleep passes for theirs.
bool process_works(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.machine) return false;
  double busy_s = 0.0;
  for (const StageLoad& stage : facts.load.stages)
    busy_s += stage.busy_s;
  const double cpu_s = facts.machine->process_share * facts.machine->cores * facts.load.elapsed_s;
  return cpu_s >= limits.on_cpu * busy_s;
}

}  // namespace

Evidence share_of(std::string name, std::string_view words, double share) {
  return {std::move(name), share, fmt::format("{} {}", words, format_share(share))};
}

Evidence seconds_of(std::string name, std::string_view words, double seconds) {
  return {std::move(name), seconds, fmt::format("{} {}", words, format_seconds(seconds))};
}

Evidence bytes_of(std::string name, std::string_view words, std::uint64_t bytes) {
  return {std::move(name), static_cast<double>(bytes),
          fmt::format("{} {}", words, format_bytes(bytes))};
}

Evidence count_of(std::string name, std::string_view words, double count) {
  return {std::move(name), count, fmt::format("{} {:.10g}", words, count)};
}

Evidence stall_of(const RunFacts& facts) {
  return share_of("data_stall_fraction", "data stall", facts.verdict.data_stall_fraction);
}

std::uint64_t whole_bytes(double bytes) {
  return static_cast<std::uint64_t>(std::max(bytes, 0.0));
}

std::string setting_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;
  const std::uint64_t whole = (bytes + mib - 1) / mib;
  if (bytes >= 10 * gib || whole % 1024 == 0) return fmt::format("{}GiB", (bytes + gib - 1) / gib);
  return fmt::format("{}MiB", whole);
}

std::string kibibytes(std::uint64_t bytes) {
  return fmt::format("{} KiB", bytes / 1024 + (bytes % 1024 != 0 ? 1 : 0));
}

bool has_key(const SettingFacts& settings, std::string_view key) {
  if (!settings.keys.empty()) return std::ranges::find(settings.keys, key) != settings.keys.end();
  if (key.starts_with("data.cache.")) return settings.can_cache;
  if (key == "image.decode") return !settings.decode_device.empty();
  return std::ranges::find(common_keys, key) != common_keys.end();
}

void set_cache(bool in_memory, std::uint64_t bytes, Advice& advice) {
  advice.setting = in_memory ? "data.cache.memory" : "data.cache.disk";
  advice.old_value = "0B";
  advice.new_value = setting_bytes(bytes);
  if (!in_memory) advice.action += "; data.cache.folder has to name a folder on a local disk, too";
}

bool may_decode_whole(const SettingFacts& settings) {
  return settings.decode_draws && settings.decode_device == "cpu" && !settings.has_cache &&
         settings.picture_resize > 0 && has_key(settings, "image.resize") &&
         has_key(settings, "data.cache.memory");
}

void decode_whole(const SettingFacts& settings, Advice& advice) {
  advice.setting = "image.resize";
  advice.old_value = "0";
  advice.new_value = fmt::format("{}", settings.picture_resize);
  advice.action =
      "decode whole pictures to that size, which data.cache.memory then keeps, and draw crops from "
      "them (pixels become others)";
}

std::string batch_key(const SettingFacts& settings) {
  if (has_key(settings, "training.batch")) return "training.batch";
  return has_key(settings, "batch") ? "batch" : "batch of the stage";
}

std::int64_t most_records(const RunFacts& facts) {
  constexpr std::int64_t largest_batch = 1'000'000;
  const bool known = facts.records && facts.records->records > 0;
  return known ? std::min(facts.records->records, largest_batch) : largest_batch;
}

bool knows_stall(const RunFacts& facts) {
  return facts.verdict.bound != InputBound::cannot_tell;
}

bool waits_for_data(const RunFacts& facts, const AdviceThresholds& limits) {
  return knows_stall(facts) && facts.verdict.data_stall_fraction >= limits.moderate_stall;
}

std::optional<double> queued_share(const RunFacts& facts) {
  const std::optional<WorkerTime> workers = waited_for_workers(facts);
  if (!workers) return std::nullopt;
  return workers->queued_s / workers->busy_s;
}

bool loader_lacks_cores(const RunFacts& facts, const AdviceThresholds& limits) {
  const std::optional<WorkerTime> workers = waited_for_workers(facts);
  if (!workers) return process_works(facts, limits);
  return workers->queued_s > limits.queued * workers->busy_s &&
         workers->queued_s >= workers->asleep_s();
}

bool loader_sleeps(const RunFacts& facts, const AdviceThresholds& limits) {
  const std::optional<WorkerTime> workers = waited_for_workers(facts);
  if (!workers) return !process_works(facts, limits);
  return workers->asleep_s() > workers->at_work_s;
}

double least_busy_share(const MachineFacts& machine) {
  if (machine.outside == 0 || machine.cores == 0) return machine.machine_share;
  const double busy = machine.machine_share * (machine.cores + machine.outside) - machine.outside;
  return std::max(busy, 0.0) / machine.cores;
}

double gpu_busy(const RunFacts& facts) {
  return facts.gpu ? facts.gpu->busy_share : -1.0;
}

HostFacts host_facts(const RunFacts& facts) {
  if (!facts.machine) return {};
  const MachineFacts& machine = *facts.machine;
  return {
      .usable_cores = machine.cores,
      .process_cpu_share = machine.process_share,
      .io_pressure_share = machine.io_pressure,
      .read_from_disk_share = machine.read_per_s > 0
                                  ? std::min(1.0, machine.read_from_disk_per_s / machine.read_per_s)
                                  : -1.0};
}

}  // namespace headrace::inline v1::monitor::detail
