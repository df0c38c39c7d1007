#include <headrace/monitor/advice/detail/loader_advice.h>
#include <headrace/monitor/advice/verdict.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor {
namespace {

constexpr double moderate_stall = 0.05;
constexpr double high_stall = 0.20;
constexpr double largest_sum_error = 0.02;
constexpr double mostly_full = 0.5;
constexpr std::size_t fewest_steps = 5;
constexpr double shortest_window_s = 0.05;

std::string why_not(const LoaderLoad& load) {
  if (!std::isfinite(load.elapsed_s) || !std::isfinite(load.consumer_wait_s))
    return "the clocks gave no number";
  if (load.elapsed_s < shortest_window_s)
    return fmt::format("only {} measured", format_seconds(load.elapsed_s));
  if (load.delivered == 0) return "no sample was delivered";
  if (load.consumer_wait_s > load.elapsed_s * (1 + largest_sum_error)) {
    return fmt::format("clocks disagree: waited {} of {}", format_seconds(load.consumer_wait_s),
                       format_seconds(load.elapsed_s));
  }
  return {};
}

std::string why_not(const StepBudget& budget) {
  if (budget.steps < fewest_steps) return fmt::format("only {} steps measured", budget.steps);
  if (!std::isfinite(budget.wall_s) || !(budget.wall_s > 0)) return "the clocks gave no number";
  if (budget.sum_error() > largest_sum_error) {
    return fmt::format("clocks disagree: the parts of the steps differ from their wall time by {}",
                       format_share(budget.sum_error()));
  }
  return {};
}

std::string describe(const StageCapacity& stage) {
  if (stage.role == StageRole::transfer) {
    return fmt::format("{} can do {} samples/s, one batch at a time", stage.name,
                       format_rate(stage.capacity));
  }
  if (stage.own_limit) {
    return fmt::format("{} can do {} samples/s under its limit of {}", stage.name,
                       format_rate(stage.capacity), stage.parallel);
  }
  if (stage.role == StageRole::io) {
    return fmt::format("{} can do {} samples/s on {} I/O threads", stage.name,
                       format_rate(stage.capacity), stage.parallel);
  }
  return fmt::format("{} workers can do {} samples/s, {} of their work is {}", stage.parallel,
                     format_rate(stage.capacity), format_share(stage.pool_share), stage.name);
}

// Waits under a queue that is mostly full are bursts: the loader has the pace, not the reserve.
bool only_bursts(const Verdict& verdict, const LoaderLoad& load) {
  return verdict.bound == InputBound::moderately && load.ready_full_share > mostly_full;
}

void name_bottleneck(Verdict& verdict, const LoaderLoad& load) {
  const bool consumer_bound =
      verdict.bound == InputBound::not_input_bound || only_bursts(verdict, load);
  if (verdict.stages.empty()) {
    verdict.reason = "no stage reported any work";
    if (consumer_bound) verdict.bottleneck = verdict.stage = "consumer";
    return;
  }
  const StageCapacity& least = verdict.stages.front();
  verdict.headroom = least.headroom;
  verdict.reason = describe(least);
  if (consumer_bound) {
    verdict.bottleneck = verdict.stage = "consumer";
    verdict.next = least.name;
    if (only_bursts(verdict, load)) {
      verdict.reason =
          fmt::format("the waits are bursts, the ready queue was full for {} of the time",
                      format_share(load.ready_full_share));
    }
    return;
  }
  verdict.bottleneck = least.name;
  verdict.stage = least.stage;
  if (verdict.stages.size() > 1) verdict.next = verdict.stages[1].name;
}

Verdict conclude(Verdict verdict, const LoaderLoad& load, const HostFacts& host) {
  verdict.stages = stage_capacities(load);
  verdict.delivered_per_s = static_cast<double>(load.delivered) / load.elapsed_s;
  verdict.demand_per_s = consumer_demand(load);
  verdict.bound = input_bound(verdict.data_stall_fraction);
  name_bottleneck(verdict, load);
  verdict.advice = detail::loader_advice(verdict, load, host);
  return verdict;
}

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string_view to_string(InputBound bound) {
  switch (bound) {
    case InputBound::cannot_tell:
      return "cannot tell";
    case InputBound::not_input_bound:
      return "not input-bound";
    case InputBound::moderately:
      return "moderately input-bound";
    case InputBound::highly:
      return "highly input-bound";
  }
  return "unknown";
}

InputBound input_bound(double data_stall_fraction) {
  if (!std::isfinite(data_stall_fraction)) return InputBound::cannot_tell;
  if (data_stall_fraction < moderate_stall) return InputBound::not_input_bound;
  return data_stall_fraction > high_stall ? InputBound::highly : InputBound::moderately;
}

Verdict judge(const StepBudget& budget, const LoaderLoad& load, const HostFacts& host) {
  Verdict verdict;
  verdict.reason = why_not(budget);
  if (verdict.reason.empty()) verdict.reason = why_not(load);
  if (!verdict.reason.empty()) return verdict;
  verdict.data_stall_fraction = budget.data_stall_fraction();
  return conclude(std::move(verdict), load, host);
}

Verdict judge(const LoaderLoad& load, const HostFacts& host) {
  Verdict verdict;
  verdict.reason = why_not(load);
  if (!verdict.reason.empty()) return verdict;
  verdict.data_stall_fraction = std::min(1.0, load.consumer_wait_s / load.elapsed_s);
  return conclude(std::move(verdict), load, host);
}

std::string Verdict::sentence() const {
  if (bound == InputBound::cannot_tell) return fmt::format("cannot tell: {}", reason);
  const std::string stall =
      fmt::format("{} (data stall {})", to_string(bound), format_share(data_stall_fraction));
  if (bottleneck.empty()) return fmt::format("{}: {}", stall, reason);
  if (bottleneck == "consumer") {
    if (stages.empty()) return fmt::format("{}: the consumer sets the pace", stall);
    return fmt::format("{}: the consumer sets the pace; {}, {:.1f} times what is asked", stall,
                       reason, headroom);
  }
  if (demand_per_s == 0.0)
    return fmt::format("no consumer behind it: {} sets the pace; {}", bottleneck, reason);
  return fmt::format("{}: {} holds the loader back; {}, the consumer would take {}", stall,
                     bottleneck, reason, format_rate(demand_per_s));
}

std::string Verdict::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StageCapacity& one : stages) {
    list.push_back({{"name", one.name},
                    {"stage", one.stage},
                    {"service_s", one.service_s},
                    {"parallel", one.parallel},
                    {"capacity_per_s", number(one.capacity)},
                    {"headroom", number(one.headroom)}});
  }
  nlohmann::ordered_json object{{"verdict", to_string(bound)},
                                {"data_stall_fraction", data_stall_fraction},
                                {"bottleneck", bottleneck},
                                {"stage", stage},
                                {"next", next},
                                {"headroom", number(headroom)},
                                {"delivered_per_s", delivered_per_s},
                                {"demand_per_s", demand_per_s},
                                {"reason", reason},
                                {"stages", list}};
  if (advice) object["advice"] = nlohmann::ordered_json::parse(advice->json());
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace headrace::inline v1::monitor
