#include <headrace/apps/train/pace_trial.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <string>

#include <nlohmann/json.hpp>

// How a pace goes from one process to the other.
namespace headrace::inline v1::app {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const monitor::StepBudget& budget) {
  return {{"steps", budget.steps},
          {"skipped_steps", budget.skipped_steps},
          {"warmup_cut_short", budget.warmup_cut_short},
          {"on_gpu", budget.on_gpu},
          {"wall_s", budget.wall_s},
          {"data_wait_s", budget.data_wait_s},
          {"copy_s", budget.copy_s},
          {"compute_s", budget.compute_s},
          {"other_s", budget.other_s},
          {"wait_p50_s", budget.wait_p50_s},
          {"wait_p99_s", budget.wait_p99_s},
          {"wait_max_s", budget.wait_max_s},
          {"long_wait_share", budget.long_wait_share}};
}

monitor::StepBudget budget_of(const ordered_json& json) {
  return {.steps = json.at("steps"),
          .skipped_steps = json.at("skipped_steps"),
          .warmup_cut_short = json.at("warmup_cut_short"),
          .on_gpu = json.at("on_gpu"),
          .wall_s = json.at("wall_s"),
          .data_wait_s = json.at("data_wait_s"),
          .copy_s = json.at("copy_s"),
          .compute_s = json.at("compute_s"),
          .other_s = json.at("other_s"),
          .wait_p50_s = json.at("wait_p50_s"),
          .wait_p99_s = json.at("wait_p99_s"),
          .wait_max_s = json.at("wait_max_s"),
          .long_wait_share = json.at("long_wait_share")};
}

constexpr std::array<std::string_view, 3> places{"worker", "io", "transfer"};

ordered_json to_json(const Durations& durations) {
  return {{"count", durations.count},
          {"total_s", durations.total_s},
          {"p50_s", durations.p50_s},
          {"p99_s", durations.p99_s},
          {"max_s", durations.max_s}};
}

Durations durations_of(const ordered_json& json) {
  return {.count = json.at("count"),
          .total_s = json.at("total_s"),
          .p50_s = json.at("p50_s"),
          .p99_s = json.at("p99_s"),
          .max_s = json.at("max_s")};
}

ordered_json to_json(const StageStats& stage) {
  return {{"name", stage.name},
          {"role", stage.role},
          {"place", places.at(static_cast<std::size_t>(stage.place))},
          {"limit", stage.limit},
          {"items", stage.items},
          {"failures", stage.failures},
          {"busy_s", stage.busy_s},
          {"service", to_json(stage.service)}};
}

StageStats stage_of(const ordered_json& json) {
  StageStats stage{.name = json.at("name"),
                   .role = json.at("role"),
                   .limit = json.at("limit"),
                   .items = json.at("items"),
                   .failures = json.at("failures"),
                   .busy_s = json.at("busy_s"),
                   .service = durations_of(json.at("service"))};
  for (std::size_t i = 0; i < places.size(); ++i)
    if (json.at("place") == places.at(i)) stage.place = static_cast<StageStats::Place>(i);
  return stage;
}

ordered_json to_json(const LoaderStats& stats) {
  ordered_json stages = ordered_json::array();
  for (const StageStats& stage : stats.stages)
    stages.push_back(to_json(stage));
  return {{"batches", stats.batches},
          {"samples", stats.samples},
          {"bytes", stats.bytes},
          {"threads", stats.threads},
          {"io_threads", stats.io_threads},
          {"wait", to_json(stats.wait)},
          {"step", to_json(stats.step)},
          {"room_wait_s", stats.room_wait_s},
          {"reorder_wait_s", stats.reorder_wait_s},
          {"ready_depth", stats.ready_depth},
          {"readiness", stats.readiness},
          {"full_share", stats.full_share},
          {"slabs", stats.slabs},
          {"peak_bytes_held", stats.peak_bytes_held},
          {"bad_samples", stats.bad_samples},
          {"stages", std::move(stages)}};
}

LoaderStats stats_of(const ordered_json& json) {
  LoaderStats stats;
  json.at("batches").get_to(stats.batches);
  json.at("samples").get_to(stats.samples);
  json.at("bytes").get_to(stats.bytes);
  json.at("threads").get_to(stats.threads);
  json.at("io_threads").get_to(stats.io_threads);
  stats.wait = durations_of(json.at("wait"));
  stats.step = durations_of(json.at("step"));
  json.at("room_wait_s").get_to(stats.room_wait_s);
  json.at("reorder_wait_s").get_to(stats.reorder_wait_s);
  json.at("ready_depth").get_to(stats.ready_depth);
  json.at("readiness").get_to(stats.readiness);
  json.at("full_share").get_to(stats.full_share);
  json.at("slabs").get_to(stats.slabs);
  json.at("peak_bytes_held").get_to(stats.peak_bytes_held);
  json.at("bad_samples").get_to(stats.bad_samples);
  for (const ordered_json& stage : json.at("stages"))
    stats.stages.push_back(stage_of(stage));
  return stats;
}

ordered_json to_json(const std::vector<monitor::ProcessUsage>& processes) {
  ordered_json list = ordered_json::array();
  for (const monitor::ProcessUsage& one : processes)
    list.push_back({{"pid", one.pid}, {"name", one.name}, {"cores", one.cores}});
  return list;
}

std::vector<monitor::ProcessUsage> processes_of(const ordered_json& json) {
  std::vector<monitor::ProcessUsage> processes;
  for (const ordered_json& one : json)
    processes.push_back({.pid = one.at("pid"), .name = one.at("name"), .cores = one.at("cores")});
  return processes;
}

// What a window's samples tell; clocks and power no rule draws an advice from.
ordered_json to_json(const monitor::GpuFacts& gpu) {
  return {{"name", gpu.name},
          {"busy_share", gpu.busy_share},
          {"sm_active_share", gpu.sm_active_share},
          {"idle_samples_share", gpu.idle_samples_share},
          {"memory_total_bytes", gpu.memory_total},
          {"memory_peak_bytes", gpu.memory_peak},
          {"temperature_c", gpu.temperature_c},
          {"throttled", gpu.throttled},
          {"others", gpu.others},
          {"our_context", gpu.our_context}};
}

monitor::GpuFacts gpu_of(const ordered_json& json) {
  return {.name = json.at("name"),
          .busy_share = json.at("busy_share"),
          .sm_active_share = json.at("sm_active_share"),
          .idle_samples_share = json.at("idle_samples_share"),
          .memory_total = json.at("memory_total_bytes"),
          .memory_peak = json.at("memory_peak_bytes"),
          .temperature_c = json.at("temperature_c"),
          .throttled = json.at("throttled"),
          .others = json.at("others"),
          .our_context = json.at("our_context")};
}

ordered_json to_json(const monitor::ThreadTime& time) {
  return {{"cpu_s", time.cpu_s}, {"queued_s", time.queued_s}};
}

monitor::ThreadTime time_of(const ordered_json& json) {
  return {.cpu_s = json.at("cpu_s"), .queued_s = json.at("queued_s")};
}

PaceResult result_of(const ordered_json& json) {
  PaceResult result{.stage = json.at("stage"),
                    .samples = json.at("samples"),
                    .samples_per_epoch = json.at("samples_per_epoch"),
                    .budget = budget_of(json.at("budget")),
                    .stats = stats_of(json.at("loader")),
                    .window_s = json.at("window_s"),
                    .open_s = json.at("open_s"),
                    .first_batch_s = json.at("first_batch_s"),
                    .cores = json.at("cores"),
                    .outside = json.at("cores_outside"),
                    .process_cores = json.at("process_cores"),
                    .process_share = json.at("process_share"),
                    .machine_share = json.at("machine_share"),
                    .read_per_s = json.at("read_bytes_per_s"),
                    .read_from_disk_per_s = json.at("disk_read_bytes_per_s"),
                    .others = processes_of(json.at("busiest_others")),
                    .open_files = json.at("open_files"),
                    .peak_held = json.at("peak_held_bytes"),
                    .forecast = json.at("forecast_bytes"),
                    .cold = json.at("cold"),
                    .storage = json.at("storage"),
                    .failed = json.at("failed"),
                    .without_resources = json.at("without_resources"),
                    .refused = json.at("refused")};
  const std::string input = json.at("input");
  result.input = parse_pace_input(input).value_or(PaceInput::memory);
  if (const auto threads = json.find("threads"); threads != json.end())
    result.threads = monitor::LoaderThreadTimes{.workers = time_of(threads->at("workers")),
                                                .io = time_of(threads->at("io"))};
  if (json.contains("io_pressure_share")) result.io_pressure = json.at("io_pressure_share");
  if (json.contains("gpu")) result.gpu = gpu_of(json.at("gpu"));
  if (json.contains("reads")) result.reads = parse_reads(json.at("reads").dump());
  return result;
}

}  // namespace

std::string to_json(const PaceResult& result) {
  ordered_json json{{"input", to_string(result.input)},
                    {"stage", result.stage},
                    {"samples_per_s", result.samples_per_s()},
                    {"step_s", result.step_s()},
                    {"samples", result.samples},
                    {"samples_per_epoch", result.samples_per_epoch},
                    {"window_s", result.window_s},
                    {"open_s", result.open_s},
                    {"first_batch_s", result.first_batch_s},
                    {"cores", result.cores},
                    {"cores_outside", result.outside},
                    {"process_cores", result.process_cores},
                    {"process_share", result.process_share},
                    {"machine_share", result.machine_share},
                    {"read_bytes_per_s", result.read_per_s},
                    {"disk_read_bytes_per_s", result.read_from_disk_per_s},
                    {"busiest_others", to_json(result.others)},
                    {"open_files", result.open_files},
                    {"peak_held_bytes", result.peak_held},
                    {"forecast_bytes", result.forecast},
                    {"cold", result.cold},
                    {"storage", result.storage},
                    {"failed", result.failed},
                    {"without_resources", result.without_resources},
                    {"refused", result.refused},
                    {"budget", to_json(result.budget)},
                    {"loader", to_json(result.stats)}};
  if (result.threads)
    json["threads"] = {{"workers", to_json(result.threads->workers)},
                       {"io", to_json(result.threads->io)}};
  if (result.io_pressure) json["io_pressure_share"] = *result.io_pressure;
  if (result.gpu) json["gpu"] = to_json(*result.gpu);
  if (result.reads) json["reads"] = ordered_json::parse(to_json(*result.reads));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

PaceResult parse_pace_result(std::string_view text) {
  try {
    return result_of(ordered_json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("[pace] must be the result of a trial, got: ") + error.what());
  }
}

}  // namespace headrace::inline v1::app
