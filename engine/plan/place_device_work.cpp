// What sample steps leave to whole batches: steps of the batch, before all others.
#include <headrace/engine/base/error.h>
#include <headrace/engine/plan/internal/plan.h>

#include <algorithm>

namespace headrace::inline v1::detail {

/// The recipe is the plan's own copy.
void Plan::place_device_work() {
  const std::vector<SampleStep>& steps = recipe.sample_steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].device_work) continue;
    const DeviceWork& work = *steps[s].device_work;
    const std::string step = "[" + recipe.name + "] step " + steps[s].name;
    if (!work.device.is_cuda())
      throw ConfigError(step + " leaves work to a device, which must be CUDA, got the CPU");
    if (work.device != recipe.device) {
      throw ConfigError(step + " works on " + to_string(work.device) +
                        ", batches are delivered to " + to_string(recipe.device) +
                        "; deliver them with .to(), or let the step work on the CPU");
    }
    if (s + 1 < steps.size()) {
      throw ConfigError(step + " works on " + to_string(work.device) +
                        " for the whole batch, so step " + steps[s + 1].name +
                        " behind it would find nothing; move that behind batch() or before this "
                        "one, or let this one work on the CPU");
    }
    recipe.batch_steps.insert(recipe.batch_steps.begin(),
                              BatchStep{.name = steps[s].name + " on the device", .work = work});
  }
}

/// Nothing is kept on the host that nobody reads: it would be a step that was wrapped, and whose
/// work on the device the wrapper does not pass on.
void Plan::check_host_fields() const {
  for (const FieldSpec& field : schema) {
    if (!field.host_only) continue;
    const bool read = std::ranges::any_of(recipe.batch_steps, [&](const BatchStep& step) {
      return step.work &&
             std::ranges::find(step.work->fields, field.name) != step.work->fields.end();
    });
    if (read) continue;
    throw ConfigError("[" + recipe.name + "] field \"" + field.name +
                      "\" stays on the host for work on a device that no step does; a step that "
                      "leaves work to the device cannot stand inside another one");
  }
}

}  // namespace headrace::inline v1::detail
