#include <headrace/apps/train/memory_verdict.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;

bool lacks_host(const MemoryPlan& plan, const SplitBytes& total) {
  return !plan.device_limit || total.host > plan.host_limit.bytes;
}

SplitBytes total_of(const PlannedStage& stage) {
  return {.host = stage.host.total(), .device = stage.device.total()};
}

std::string more_is_needed(const MemoryPlan& plan, const PlannedStage& stage,
                           const SwitchSearch& search) {
  const std::string least =
      fmt::format("a batch of {}{}{}", least_rows(stage), search.of_least.empty() ? "" : " with ",
                  to_text(search.of_least));
  if (!search.least)
    return fmt::format("{} is needed; how much could not be measured, not even of {}",
                       lacks_host(plan, total_of(stage)) ? "more memory" : "a larger card", least);
  const std::string needed =
      lacks_host(plan, *search.least)
          ? "more memory is needed, " + format_bytes(search.least->host)
          : "a larger card is needed, with " + format_bytes(search.least->device) + " free";
  return fmt::format("{} at least: even {} takes that", needed, least);
}

}  // namespace

std::string fits_with(const MemoryPlan& plan, const PlannedStage& stage,
                      const std::string& change) {
  return fmt::format("{} is not needed, the nearest change that fits: {}",
                     lacks_host(plan, total_of(stage)) ? "more memory" : "a larger card", change);
}

std::string memory_verdict(const MemoryPlan& plan, const PlannedStage& stage,
                           const SwitchSearch& search) {
  if (!search.found)
    return more_is_needed(plan, stage, search) +
           "; raise the limit where there is more, or take a smaller network or smaller inputs";
  const auto& [changes, rows] = *search.found;
  return fits_with(plan, stage,
                   advice(changes) + (rows.needed() ? ", with " + to_text(plan, stage, rows) : ""));
}

}  // namespace headrace::inline v1::app
