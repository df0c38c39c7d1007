#include <headrace/apps/memory/memory_owners.h>
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

namespace {

using monitor::format_bytes;

// A step that keeps less is not named.
constexpr std::int64_t least_kept = 1 << 20;

// Parts of the plan by who is asked for them now.
struct Planned {
  std::uint64_t tensors = 0;
  std::uint64_t caches = 0;
  std::uint64_t data = 0;
  std::uint64_t loaders = 0;
  std::uint64_t process = 0;
};

Planned planned_of(const PlannedStage& stage) {
  Planned planned;
  for (const monitor::ForecastItem& item : stage.host.items()) {
    const bool of_loader =
        item.name.starts_with("training: ") || item.name.starts_with("evaluation: ");
    std::uint64_t& part = counts_as_tensors(item.name)    ? planned.tensors
                          : item.name == "decoded cache"  ? planned.caches
                          : item.name == "data in memory" ? planned.data
                          : of_loader                     ? planned.loaders
                                                          : planned.process;
    part += item.bytes;
  }
  return planned;
}

std::uint64_t less(std::uint64_t all, std::uint64_t part) {
  return all - std::min(all, part);
}

// Most first, without what is taken by one step and given back by another: that is kept by none.
// Whose it was is not known: first that of steps which it makes up for whole, the largest first.
std::vector<LoaderHolding::Stage> by_kept(const LoaderHolding& loader) {
  std::vector<LoaderHolding::Stage> stages = loader.stages;
  std::ranges::stable_sort(stages, std::ranges::greater(), &LoaderHolding::Stage::kept);
  std::int64_t given_back = 0;
  for (const LoaderHolding::Stage& stage : stages)
    given_back += std::max<std::int64_t>(-stage.kept, 0);
  for (const bool whole : {true, false}) {
    for (LoaderHolding::Stage& stage : stages) {
      if (stage.kept <= 0 || (whole && stage.kept > given_back)) continue;
      const std::int64_t of_stage = std::min(stage.kept, given_back);
      stage.kept -= of_stage;
      given_back -= of_stage;
    }
  }
  std::ranges::stable_sort(stages, std::ranges::greater(), &LoaderHolding::Stage::kept);
  return stages;
}

void add_steps(const HeldNow& now, std::uint64_t& rest, std::vector<MemoryOwner>& owners) {
  for (const LoaderHolding& loader : now.loaders) {
    for (const LoaderHolding::Stage& stage : by_kept(loader)) {
      if (stage.kept < least_kept) break;
      const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(stage.kept), rest);
      rest -= bytes;
      owners.push_back({.name = fmt::format("step \"{}\" of {}, which keeps what it takes",
                                            stage.name, loader.loader),
                        .bytes = bytes});
    }
  }
}

}  // namespace

std::vector<MemoryOwner> memory_owners(const MemoryPlan& plan, const HeldNow& now) {
  const Planned planned = planned_of(plan.largest());
  std::uint64_t of_loaders = 0;
  for (const LoaderHolding& loader : now.loaders)
    of_loaders += loader.bytes;
  std::vector<MemoryOwner> owners{
      {.name = "tensors", .planned = planned.tensors, .bytes = now.tensors},
      {.name = "decoded caches", .planned = planned.caches, .bytes = now.caches},
      {.name = "data in memory", .planned = planned.data, .bytes = planned.data},
      {.name = "loaders", .planned = planned.loaders, .bytes = of_loaders}};
  std::uint64_t counted = 0;
  for (const MemoryOwner& owner : owners)
    counted += owner.bytes;
  std::uint64_t rest = less(now.process, counted);
  add_steps(now, rest, owners);
  owners.push_back(
      {.name = "the process, libraries, heap", .planned = planned.process, .bytes = rest});
  std::erase_if(owners, [](const MemoryOwner& owner) { return owner.planned + owner.bytes == 0; });
  std::ranges::stable_sort(owners, std::ranges::greater(), &MemoryOwner::bytes);
  return owners;
}

std::string to_text(const std::vector<MemoryOwner>& owners) {
  std::size_t width = 0;
  for (const MemoryOwner& owner : owners)
    width = std::max(width, owner.name.size());
  std::string text =
      fmt::format("  {:<{}}  {:>10}  {:>10}\n", "who holds what", width, "planned", "now");
  const MemoryOwner* most = nullptr;
  const auto excess = [](const MemoryOwner& owner) { return less(owner.bytes, owner.planned); };
  for (const MemoryOwner& owner : owners) {
    text += fmt::format("  {:<{}}  {:>10}  {:>10}\n", owner.name, width,
                        format_bytes(owner.planned), format_bytes(owner.bytes));
    if (most == nullptr || excess(owner) > excess(*most)) most = &owner;
  }
  if (most == nullptr || excess(*most) == 0) return text + "  all of it as planned";
  return text +
         fmt::format("  most beyond the plan: {}, {}", most->name, format_bytes(excess(*most)));
}

}  // namespace headrace::inline v1::app
