#include <headrace/apps/train/memory_owners.h>
#include <headrace/apps/train/training_memory.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
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
