#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/feed/stats_fields.h>
#include <headrace/engine/base/error.h>

#include <string>

#include <nlohmann/json.hpp>

// How a pace goes from one process to the other.
namespace headrace::inline v1 {

NLOHMANN_JSON_SERIALIZE_ENUM(StageStats::Place, {{StageStats::Place::worker, "worker"},
                                                 {StageStats::Place::io, "io"},
                                                 {StageStats::Place::transfer, "transfer"}})

void fields(of_type<StageStats> auto& stage, const auto& field) {
  field("name", stage.name);
  field("role", stage.role);
  field("place", stage.place);
  field("limit", stage.limit);
  field("items", stage.items);
  field("failures", stage.failures);
  field("busy_s", stage.busy_s);
  field("service", stage.service);
}

void fields(of_type<LoaderStats> auto& stats, const auto& field) {
  field("batches", stats.batches);
  field("samples", stats.samples);
  field("bytes", stats.bytes);
  field("threads", stats.threads);
  field("io_threads", stats.io_threads);
  field("wait", stats.wait);
  field("step", stats.step);
  field("room_wait_s", stats.room_wait_s);
  field("reorder_wait_s", stats.reorder_wait_s);
  field("ready_depth", stats.ready_depth);
  field("readiness", stats.readiness);
  field("full_share", stats.full_share);
  field("slabs", stats.slabs);
  field("peak_bytes_held", stats.peak_bytes_held);
  field("bad_samples", stats.bad_samples);
  field("stages", stats.stages);
}

}  // namespace headrace::inline v1

namespace headrace::inline v1::monitor {

void fields(of_type<StepBudget> auto& budget, const auto& field) {
  field("steps", budget.steps);
  field("skipped_steps", budget.skipped_steps);
  field("warmup_cut_short", budget.warmup_cut_short);
  field("on_gpu", budget.on_gpu);
  field("wall_s", budget.wall_s);
  field("data_wait_s", budget.data_wait_s);
  field("copy_s", budget.copy_s);
  field("compute_s", budget.compute_s);
  field("other_s", budget.other_s);
  field("wait_p50_s", budget.wait_p50_s);
  field("wait_p99_s", budget.wait_p99_s);
  field("wait_max_s", budget.wait_max_s);
  field("long_wait_share", budget.long_wait_share);
}

void fields(of_type<ProcessUsage> auto& process, const auto& field) {
  field("pid", process.pid);
  field("name", process.name);
  field("cores", process.cores);
}

// What a window's samples tell; clocks and power no rule draws an advice from.
void fields(of_type<GpuFacts> auto& gpu, const auto& field) {
  field("name", gpu.name);
  field("busy_share", gpu.busy_share);
  field("sm_active_share", gpu.sm_active_share);
  field("idle_samples_share", gpu.idle_samples_share);
  field("memory_total_bytes", gpu.memory_total);
  field("memory_peak_bytes", gpu.memory_peak);
  field("temperature_c", gpu.temperature_c);
  field("throttled", gpu.throttled);
  field("others", gpu.others);
  field("our_context", gpu.our_context);
}

void fields(of_type<ThreadTime> auto& time, const auto& field) {
  field("cpu_s", time.cpu_s);
  field("queued_s", time.queued_s);
}

void fields(of_type<LoaderThreadTimes> auto& threads, const auto& field) {
  field("workers", threads.workers);
  field("io", threads.io);
}

}  // namespace headrace::inline v1::monitor

namespace headrace::inline v1::app {

using nlohmann::ordered_json;

void to_json(ordered_json& json, PaceInput input) {
  json = to_string(input);
}

void from_json(const ordered_json& json, PaceInput& input) {
  input = parse_pace_input(json.get_ref<const std::string&>()).value_or(PaceInput::memory);
}

void fields(of_type<PaceResult> auto& result, const auto& field) {
  field("input", result.input);
  field("stage", result.stage);
  field.told("samples_per_s", result.samples_per_s());
  field.told("step_s", result.step_s());
  field("samples", result.samples);
  field("samples_per_epoch", result.samples_per_epoch);
  field("window_s", result.window_s);
  field("open_s", result.open_s);
  field("first_batch_s", result.first_batch_s);
  field("cores", result.cores);
  field("cores_outside", result.outside);
  field("process_cores", result.process_cores);
  field("process_share", result.process_share);
  field("machine_share", result.machine_share);
  field("read_bytes_per_s", result.read_per_s);
  field("disk_read_bytes_per_s", result.read_from_disk_per_s);
  field("busiest_others", result.others);
  field("open_files", result.open_files);
  field("peak_held_bytes", result.peak_held);
  field("forecast_bytes", result.forecast);
  field("cold", result.cold);
  field("storage", result.storage);
  field("failed", result.failed);
  field("without_resources", result.without_resources);
  field("refused", result.refused);
  field("budget", result.budget);
  field("loader", result.stats);
  field.if_there("threads", result.threads);
  field.if_there("io_pressure_share", result.io_pressure);
  field.if_there("gpu", result.gpu);
  field.if_there("reads", result.reads);
}

std::string to_json(const PaceResult& result) {
  return write_fields<ordered_json>(result).dump(2, ' ', false,
                                                 ordered_json::error_handler_t::replace) +
         "\n";
}

PaceResult parse_pace_result(std::string_view text) {
  try {
    PaceResult result;
    read_fields(ordered_json::parse(text), result);
    return result;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("[pace] must be the result of a trial, got: ") + error.what());
  }
}

}  // namespace headrace::inline v1::app
