#include <headrace/monitor/stage_load.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::monitor {
namespace {

constexpr double least_consumer_share = 0.01;  // a consumer busy for less of the time is none

unsigned pool_size(const LoaderLoad& load, StageRole role) {
  switch (role) {
    case StageRole::worker:
      return std::max(1u, load.threads);
    case StageRole::io:
      return std::max(1u, load.io_threads);
    case StageRole::transfer:
      break;
  }
  return 1;
}

double work_per_sample(const LoaderLoad& load, StageRole role) {
  double sum = 0.0;
  for (const StageLoad& stage : load.stages) {
    if (stage.role == role && stage.items > 0)
      sum += stage.busy_s / static_cast<double>(stage.items);
  }
  return sum;
}

StageCapacity capacity_of(const LoaderLoad& load, const StageLoad& stage) {
  StageCapacity result{.name = stage.name,
                       .stage = stage.stage.empty() ? stage.name : stage.stage,
                       .role = stage.role};
  result.service_s = stage.busy_s / static_cast<double>(stage.items);
  const unsigned pool = pool_size(load, stage.role);
  const double pool_work = work_per_sample(load, stage.role);
  result.parallel = pool;
  if (!(result.service_s > 0)) return result;
  result.pool_share = result.service_s / pool_work;
  result.capacity = pool / pool_work;
  if (stage.concurrency_limit > 0 && stage.concurrency_limit < pool) {
    const double limited = stage.concurrency_limit / result.service_s;
    result.parallel = stage.concurrency_limit;
    if (limited < result.capacity) {
      result.capacity = limited;
      result.own_limit = true;
    }
  }
  return result;
}

StageRole role_of(StageStats::Place place) {
  switch (place) {
    case StageStats::Place::worker:
      return StageRole::worker;
    case StageStats::Place::io:
      return StageRole::io;
    case StageStats::Place::transfer:
      break;
  }
  return StageRole::transfer;
}

std::uint64_t samples_of(const StageStats& stage, const LoaderStats& stats) {
  if (stage.place != StageStats::Place::transfer || stats.batches == 0) {
    return static_cast<std::uint64_t>(stage.items);
  }
  const double per_batch = static_cast<double>(stats.samples) / static_cast<double>(stats.batches);
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(stage.items) * per_batch));
}

}  // namespace

LoaderLoad loader_load(const LoaderStats& stats) {
  LoaderLoad load{.elapsed_s = stats.wait.total_s + stats.step.total_s,
                  .threads = static_cast<unsigned>(std::max(1, stats.threads)),
                  .io_threads = static_cast<unsigned>(std::max(1, stats.io_threads)),
                  .delivered = static_cast<std::uint64_t>(stats.samples),
                  .consumer_wait_s = stats.wait.total_s,
                  .ready_full_share = stats.full_share,
                  .slabs = static_cast<unsigned>(std::max(0, stats.slabs))};
  for (const StageStats& stage : stats.stages) {
    load.stages.push_back({.name = stage.name,
                           .stage = stage.role,
                           .role = role_of(stage.place),
                           .busy_s = stage.busy_s,
                           .items = samples_of(stage, stats),
                           .concurrency_limit = static_cast<unsigned>(std::max(0, stage.limit))});
  }
  return load;
}

double consumer_demand(const LoaderLoad& load) {
  const double busy_s = load.elapsed_s - load.consumer_wait_s;
  if (!(busy_s > least_consumer_share * load.elapsed_s) || load.delivered == 0) return 0.0;
  return static_cast<double>(load.delivered) / busy_s;
}

std::vector<StageCapacity> stage_capacities(const LoaderLoad& load) {
  double demand = consumer_demand(load);
  if (demand == 0.0 && load.elapsed_s > 0)
    demand = static_cast<double>(load.delivered) / load.elapsed_s;
  std::vector<StageCapacity> result;
  for (const StageLoad& stage : load.stages) {
    if (stage.items == 0) continue;
    result.push_back(capacity_of(load, stage));
    if (demand > 0) result.back().headroom = result.back().capacity / demand;
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const StageCapacity& a, const StageCapacity& b) {
                     if (a.capacity != b.capacity) return a.capacity < b.capacity;
                     return a.pool_share > b.pool_share;
                   });
  return result;
}

}  // namespace headrace::inline v1::monitor
