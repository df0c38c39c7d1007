#include <headrace/apps/train/training_memory.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::string_view slabs = " slabs";

constexpr const char* weights = "weights";
constexpr const char* gradients = "gradients";
constexpr const char* moments = "moments";
constexpr const char* average = "averaged weights";
constexpr const char* activations = "activations, workspace, losses";
constexpr const char* checkpoint_copy = "copy for checkpoints";
constexpr const char* beside_tensors = "LibTorch beside tensors";

bool grows_with_batch(const std::string& part) {
  return part.ends_with(slabs) || part == "fields made by batch steps" ||
         part == "samples between read and collate";
}

// Of a step or an evaluation, whichever is more, beside the state.
void add_activations(const PlannedStage& stage, monitor::MemoryForecast& device) {
  const MeasuredStage& measured = stage.measured;
  const std::uint64_t most = measured.tensors(stage.batch, stage.evaluation_batch);
  device.add(activations, most - measured.state(),
             most > measured.tensors(stage.batch, 0)
                 ? fmt::format("of an evaluation with {} rows", stage.evaluation_batch)
                 : fmt::format("of a step with {} rows", stage.batch));
  device.add(beside_tensors, measured.beside(), "libraries, scratch, unused parts of its heap");
}

}  // namespace

void add_stage_memory(const PlannedStage& stage, monitor::MemoryForecast& device,
                      monitor::MemoryForecast& host) {
  const MeasuredStage& measured = stage.measured;
  device.add(weights, measured.weights);
  device.add(gradients, measured.gradients);
  if (measured.moments > 0) device.add(moments, measured.moments);
  if (measured.average > 0) device.add(average, measured.average);
  if (!measured.points.empty()) add_activations(stage, device);
  host.add(checkpoint_copy, measured.checkpoint);
  const std::uint64_t kept_twice = 2 * measured.kept();
  if (&device != &host && kept_twice > 0) host.add("rows of figures, put together", kept_twice);
}

bool is_of_tensors(const std::string& part) {
  const auto all = {weights, gradients, moments, average, activations, beside_tensors};
  return std::ranges::find(all, part) != all.end();
}

bool counts_as_tensors(const std::string& part) {
  return part == checkpoint_copy || (is_of_tensors(part) && part != beside_tensors);
}

std::uint64_t add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                                const Loader& loader) {
  std::uint64_t of_batches = 0;
  for (const headrace::MemoryForecast::Item& item : loader.forecast().items) {
    if (item.bytes == 0 || item.name == "source") continue;
    if (grows_with_batch(item.name)) of_batches += item.bytes;
    // "5 slabs": stages differ in how many, and are one row of a table.
    if (item.name.ends_with(slabs)) {
      const std::string count = item.name.substr(0, item.name.size() - slabs.size());
      forecast.add(
          name + ":" + std::string(slabs), item.bytes,
          fmt::format("{} x {}", count, monitor::format_bytes(item.bytes / std::stoull(count))));
    } else {
      forecast.add(name + ": " + item.name, item.bytes);
    }
  }
  return of_batches;
}

}  // namespace headrace::inline v1::app
