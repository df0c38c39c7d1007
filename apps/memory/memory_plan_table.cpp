#include <headrace/apps/memory/memory_plan.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::ForecastItem;
using monitor::format_bytes;
using monitor::MemoryForecast;
using monitor::MemoryLimit;

using Part = MemoryForecast PlannedStage::*;

// Names of all parts, in the order in which a stage has them.
std::vector<std::string> part_names(const std::vector<PlannedStage>& stages, Part part) {
  std::vector<std::string> names;
  for (const PlannedStage& stage : stages)
    for (const ForecastItem& item : (stage.*part).items())
      if (std::ranges::find(names, item.name) == names.end()) names.push_back(item.name);
  return names;
}

const ForecastItem* item_of(const MemoryForecast& forecast, const std::string& name) {
  const auto found = std::ranges::find(forecast.items(), name, &ForecastItem::name);
  return found == forecast.items().end() ? nullptr : &*found;
}

class ForecastTable {
 public:
  ForecastTable(const std::vector<PlannedStage>& stages, Part part) : stages_(stages), part_(part) {
    names_ = part_names(stages, part);
    for (const std::string& name : names_)
      width_ = std::max(width_, name.size());
    for (const PlannedStage& stage : stages)
      column_ = std::max(column_, stage.name.size());
  }

  std::string text(const MemoryLimit& limit) const {
    std::string text;
    if (stages_.size() > 1)
      text += row("", [](const PlannedStage& stage) { return stage.name; }, {});
    for (const std::string& name : names_)
      text += row(
          name, [&](const PlannedStage& stage) { return cell(stage, name); }, how(name));
    text += "  " + std::string(width_ + stages_.size() * (column_ + 2), '-') + '\n';
    text += row("total", [&](const PlannedStage& stage) { return format_bytes(total(stage)); }, {});
    text += row(
        "limit", [&](const PlannedStage&) { return format_bytes(limit.bytes); }, limit.source);
    const auto left = [&](const PlannedStage& stage) {
      const bool ok = total(stage) <= limit.bytes;
      return (ok ? "" : "-") +
             format_bytes(ok ? limit.bytes - total(stage) : total(stage) - limit.bytes);
    };
    const bool missing = std::ranges::any_of(
        stages_, [&](const PlannedStage& stage) { return total(stage) > limit.bytes; });
    return text + row(missing ? "missing" : "left", left, {});
  }

 private:
  std::uint64_t total(const PlannedStage& stage) const { return (stage.*part_).total(); }

  std::string cell(const PlannedStage& stage, const std::string& name) const {
    const ForecastItem* item = item_of(stage.*part_, name);
    return item == nullptr ? "-" : format_bytes(item->bytes);
  }

  // Of the first stage that says it; of several stages only what holds for all of them.
  std::string how(const std::string& name) const {
    std::string said;
    for (const PlannedStage& stage : stages_) {
      const ForecastItem* item = item_of(stage.*part_, name);
      if (item == nullptr) continue;
      if (!said.empty() && said != item->how) return {};
      said = item->how;
    }
    return said;
  }

  std::string row(const std::string& name,
                  const std::function<std::string(const PlannedStage&)>& of,
                  const std::string& how) const {
    std::string text = fmt::format("  {:<{}}", name, width_);
    for (const PlannedStage& stage : stages_)
      text += fmt::format("  {:>{}}", of(stage), column_);
    if (!how.empty()) text += "  " + how;
    return text + '\n';
  }

  const std::vector<PlannedStage>& stages_;
  Part part_;
  std::vector<std::string> names_;
  std::size_t width_ = 7;
  std::size_t column_ = 10;
};

}  // namespace

std::string MemoryPlan::table() const {
  std::string text = ForecastTable(stages, &PlannedStage::host).text(host_limit);
  if (device_limit)
    text += "  of the GPU's memory:\n" +
            ForecastTable(stages, &PlannedStage::device).text(*device_limit);
  if (!unmeasured.empty()) text += "  not in it: what activations take, " + unmeasured + '\n';
  return text;
}

}  // namespace headrace::inline v1::app
