#include <headrace/monitor/advice/detail/loader_advice.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace headrace::inline v1::monitor::detail {
namespace {

constexpr unsigned most_io_threads = 64;
constexpr unsigned most_threads_per_core = 4;

struct Case {
  const Verdict& verdict;
  const LoaderLoad& load;
  const HostFacts& host;
  const AdviceThresholds& limits;
  const StageCapacity& stage;

  bool has_demand() const { return verdict.demand_per_s > 0; }
  /// How many times more the stage would have to deliver; 2 where nobody asks for anything.
  double factor() const {
    return has_demand() ? pace_reserve * verdict.demand_per_s / stage.capacity : 2.0;
  }
  bool cpu_to_spare() const {
    return host.process_cpu_share >= 0 && host.process_cpu_share < limits.spare_cpu;
  }
  bool cpu_full() const { return host.process_cpu_share >= limits.full_cpu; }
  double idle_share() const {
    const double left = std::max(0.0, 1.0 - host.process_cpu_share);
    return host.idle_cpu_share < 0 ? left : std::min(left, host.idle_cpu_share);
  }
  /// How many times what the process does now the cores can carry; infinite where nobody knows.
  double growth() const {
    const double share = host.process_cpu_share;
    return share > 0 ? 1.0 + idle_share() / share : std::numeric_limits<double>::infinity();
  }
  std::string effect(const LoaderLoad& changed) const {
    return predicted_effect(verdict, changed, growth() * verdict.delivered_per_s);
  }
};

struct Rule {
  bool (*applies)(const Case&);
  Advice (*advise)(const Case&);
};

unsigned scaled(unsigned count, double factor, unsigned most) {
  return std::clamp(static_cast<unsigned>(std::ceil(count * factor)), count, std::max(count, most));
}

// As many as there are cores to carry: each takes what those there take, or at most a core.
unsigned carried(const Case& c, unsigned count) {
  constexpr double nearly = 0.1;  // of a core that passes for one
  const double a_core_each = count + c.idle_share() * c.host.usable_cores;
  const double most = std::max(count * c.growth(), a_core_each);
  return static_cast<unsigned>(std::min(most + nearly, 1e6));
}

unsigned better_thread_count(const Case& c) {
  const unsigned cores = c.host.usable_cores;
  const unsigned most = c.cpu_to_spare() ? cores * most_threads_per_core : cores;
  return scaled(c.load.threads, c.factor(), std::min(most, carried(c, c.load.threads)));
}

Advice start(const Case& c, std::string rule) {
  Advice advice{.rule = std::move(rule), .weight = c.verdict.data_stall_fraction};
  const bool serious = c.has_demand() && c.verdict.bound == InputBound::highly;
  advice.severity = serious ? Severity::warning : Severity::notice;
  advice.verdict = fmt::format("{} holds the loader back", c.stage.name);
  advice.check = "data stall and samples/s of the next epoch";
  advice.evidence = {
      {"data_stall_fraction", c.verdict.data_stall_fraction,
       "data stall " + format_share(c.verdict.data_stall_fraction)},
      {"service_s", c.stage.service_s,
       fmt::format("{} {} a sample", c.stage.name, format_seconds(c.stage.service_s))},
      {"capacity_per_s", c.stage.capacity, format_rate(c.stage.capacity) + " samples/s possible"},
  };
  if (c.has_demand()) {
    advice.evidence.push_back({"demand_per_s", c.verdict.demand_per_s,
                               format_rate(c.verdict.demand_per_s) + " asked for"});
  }
  return advice;
}

void cite_cpu(const Case& c, Advice& advice) {
  if (c.host.process_cpu_share < 0) return;
  advice.evidence.push_back({"process_cpu_share", c.host.process_cpu_share,
                             "process CPU " + format_share(c.host.process_cpu_share)});
}

// What a sample may cost for the stage's pool to keep up, seconds.
double affordable_service(const Case& c) {
  const double pool_work = c.stage.service_s / c.stage.pool_share;
  return std::max(0.0, c.stage.service_s - pool_work * (1.0 - 1.0 / c.factor()));
}

Advice cheaper(const Case& c, std::string rule, std::string action) {
  Advice advice = start(c, std::move(rule));
  // Where even a free step would not do, halving it is the next sensible goal.
  const double goal = std::max(affordable_service(c), c.stage.service_s / 2);
  advice.setting = fmt::format("{} time a sample", c.stage.name);
  advice.old_value = format_seconds(c.stage.service_s);
  advice.new_value = format_seconds(goal);
  advice.action = std::move(action);
  advice.effect = predicted_effect(c.verdict, with_service(c.load, c.stage.name, goal));
  return advice;
}

// What is slow is not the pool: it had time to spare while the consumer waited.
bool has_pace_already(const Case& c) {
  if (!c.has_demand() || c.load.slabs == 0) return false;
  const bool threads = c.stage.role != StageRole::transfer && !c.stage.own_limit;
  return c.stage.headroom >= pace_reserve ||
         (threads && lacks_reserve(c.verdict, c.stage, c.limits));
}

Advice raise_prefetch(const Case& c) {
  Advice advice = start(c, "raise-prefetch");
  advice.verdict = "the loader has the pace but not the reserve: waits come in bursts";
  advice.setting = "data.prefetch";
  advice.old_value = fmt::format("{} slabs", c.load.slabs);
  advice.new_value = fmt::format("{} slabs", 2 * c.load.slabs);
  advice.action =
      fmt::format("keep {} more batches ready, at the price of their memory", c.load.slabs);
  // A full pool gives its pace, not what is asked beyond it.
  const double left = std::max(c.limits.moderate_stall, 1.0 - c.stage.headroom);
  advice.effect = fmt::format("data stall {} -> below {} if bursts last less than {} batches",
                              format_share(c.verdict.data_stall_fraction), format_share(left),
                              2 * c.load.slabs);
  return advice;
}

bool own_limit_in_the_way(const Case& c) {
  return c.stage.own_limit;
}

Advice raise_limit(const Case& c) {
  const unsigned pool = c.stage.role == StageRole::io ? c.load.io_threads : c.load.threads;
  const unsigned limit =
      scaled(c.stage.parallel, c.factor(), std::min(pool, carried(c, c.stage.parallel)));
  LoaderLoad changed = c.load;
  for (StageLoad& stage : changed.stages) {
    if (stage.name == c.stage.name) stage.concurrency_limit = limit;
  }
  Advice advice = start(c, "raise-limit");
  advice.setting = "limit of " + c.stage.name;  // in code, where the step was given one
  advice.old_value = fmt::format("{}", c.stage.parallel);
  advice.new_value = fmt::format("{}", limit);
  advice.action = "let more of this step run at once";
  advice.effect = c.effect(changed);
  return advice;
}

bool more_threads_help(const Case& c) {
  return c.stage.role == StageRole::worker && c.host.usable_cores > 0 && !c.cpu_full() &&
         better_thread_count(c) > c.load.threads;
}

Advice raise_threads(const Case& c) {
  LoaderLoad changed = c.load;
  changed.threads = better_thread_count(c);
  Advice advice = start(c, "raise-threads");
  cite_cpu(c, advice);
  advice.setting = "threads.loader";
  advice.old_value = fmt::format("{}", c.load.threads);
  advice.new_value = fmt::format("{}", changed.threads);
  advice.action = c.cpu_to_spare() && changed.threads > c.host.usable_cores
                      ? "add workers, they sleep more than they work"
                      : "use the cores that are free";
  advice.effect = c.effect(changed);
  return advice;
}

bool workers_are_full(const Case& c) {
  return c.stage.role == StageRole::worker && c.host.usable_cores > 0;
}

Advice cheaper_step(const Case& c) {
  Advice advice = cheaper(
      c, "cheaper-step",
      "more threads will not help: cache its result, decode at a smaller scale, or do it on "
      "the device");
  cite_cpu(c, advice);
  return advice;
}

bool storage_is_slow(const Case& c) {
  const double from_disk = c.host.read_from_disk_share;
  return c.stage.role == StageRole::io && c.host.io_pressure_share >= c.limits.storage_pressure &&
         (from_disk < 0 || from_disk >= c.limits.from_storage);
}

Advice faster_storage(const Case& c) {
  Advice advice =
      cheaper(c, "faster-storage",
              "keep the data on a local disk or in memory, or read it in larger pieces");
  advice.evidence.push_back({"io_pressure_share", c.host.io_pressure_share,
                             "waiting for storage " + format_share(c.host.io_pressure_share)});
  return advice;
}

bool reads_wait(const Case& c) {
  return c.stage.role == StageRole::io && c.load.io_threads < most_io_threads;
}

Advice raise_io_threads(const Case& c) {
  LoaderLoad changed = c.load;
  changed.io_threads = scaled(c.load.io_threads, c.factor(),
                              std::min(most_io_threads, carried(c, c.load.io_threads)));
  Advice advice = start(c, "raise-io-threads");
  advice.setting = "threads.io";
  advice.old_value = fmt::format("{}", c.load.io_threads);
  advice.new_value = fmt::format("{}", changed.io_threads);
  advice.action = "keep more reads under way";
  advice.effect = c.effect(changed);
  return advice;
}

bool transfer_is_slow(const Case& c) {
  return c.stage.role == StageRole::transfer;
}

Advice smaller_transfer(const Case& c) {
  return cheaper(c, "smaller-transfer",
                 "let uint8 travel and make floats on the device, from page-locked memory");
}

// The first that applies speaks.
constexpr std::array<Rule, 7> rules{{
    {has_pace_already, raise_prefetch},
    {own_limit_in_the_way, raise_limit},
    {more_threads_help, raise_threads},
    {workers_are_full, cheaper_step},
    {storage_is_slow, faster_storage},
    {reads_wait, raise_io_threads},
    {transfer_is_slow, smaller_transfer},
}};

}  // namespace

double pool_occupancy(const Verdict& verdict, const StageCapacity& stage) {
  return stage.capacity > 0 ? verdict.delivered_per_s / stage.capacity : 0.0;
}

bool lacks_reserve(const Verdict& verdict, const StageCapacity& stage,
                   const AdviceThresholds& limits) {
  const double busy = pool_occupancy(verdict, stage);
  return busy < limits.full_pool && busy <= stage.headroom;
}

LoaderLoad with_service(LoaderLoad load, const std::string& name, double service_s) {
  for (StageLoad& stage : load.stages) {
    if (stage.name == name) stage.busy_s = service_s * static_cast<double>(stage.items);
  }
  return load;
}

std::string predicted_effect(const Verdict& verdict, const LoaderLoad& changed, double most) {
  const std::vector<StageCapacity> after = stage_capacities(changed);
  double rate = after.empty() ? 0.0 : std::min(after.front().capacity, most);
  if (!(verdict.demand_per_s > 0)) {
    return fmt::format("{} -> {} samples/s", format_rate(verdict.delivered_per_s),
                       format_rate(rate));
  }
  rate = std::min(rate, verdict.demand_per_s);
  return fmt::format("{} -> {} samples/s, data stall {} -> {}",
                     format_rate(verdict.delivered_per_s), format_rate(rate),
                     format_share(verdict.data_stall_fraction),
                     format_share(1.0 - rate / verdict.demand_per_s));
}

std::optional<Advice> loader_advice(const Verdict& verdict, const LoaderLoad& load,
                                    const HostFacts& host, const AdviceThresholds& thresholds) {
  const bool held_back =
      verdict.bound == InputBound::moderately || verdict.bound == InputBound::highly;
  if (!held_back || verdict.stages.empty() || verdict.bottleneck == "consumer") return std::nullopt;
  const Case c{verdict, load, host, thresholds, verdict.stages.front()};
  if (!(c.stage.service_s > 0)) return std::nullopt;
  for (const Rule& rule : rules) {
    if (!rule.applies(c)) continue;
    Advice advice = rule.advise(c);
    if (advice.old_value != advice.new_value) return advice;
  }
  return std::nullopt;
}

}  // namespace headrace::inline v1::monitor::detail
