#include <headrace/apps/measure/tune/pace_model.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::inline v1::app {
namespace {

using monitor::LoaderLoad;
using monitor::StageLoad;
using monitor::StageRole;

constexpr double most_loss = 1.0;
constexpr double awake_from = 0.7;          // of a pool's work on cores: its threads do not sleep
constexpr double copied_bytes_per_s = 4e9;  // by a core, of records in no order

const std::string& place_of(const StageLoad& stage) {
  return stage.stage.empty() ? stage.name : stage.stage;
}

bool spares(const PaceChange& change, const std::string& place) {
  return std::ranges::find(change.spared, place) != change.spared.end();
}

double per_item(const StageLoad& stage) {
  return stage.items > 0 ? stage.busy_s / static_cast<double>(stage.items) : 0.0;
}

}  // namespace

PaceModel::PaceModel(const PaceResult& pace, double device_per_s, int cores)
    : pace_(pace),
      cores_(std::max(cores, 1)),
      load_(monitor::loader_load(pace.stats)),
      device_per_s_(device_per_s) {
  const double samples = static_cast<double>(pace.samples);
  if (samples > 0.0) {
    now_s_ = pace.budget.wall_s / samples;
    cpu_s_ = pace.process_cores * now_s_;
  }
  device_per_s_ = step_rate();
  const LoaderLoad as_measured = load_;
  leave_queueing_out();
  slowest_s_ = limit(as_measured, cpu_s_).slowest_s;
  if (slowest_s_ > 0.0) loss_ = std::clamp(now_s_ / slowest_s_ - 1.0, 0.0, most_loss);
  limit_ = limit(load_, cpu_s_);
}

// Beside a loader a step takes longer than alone, and while it waits not as long as when it does
// not: it lies between what it takes alone and what it took here.
double PaceModel::step_rate() const {
  const double here = monitor::consumer_demand(load_);
  if (device_per_s_ <= 0.0) return here;
  if (here <= 0.0 || here > device_per_s_) return device_per_s_;
  return std::sqrt(here * device_per_s_);
}

double PaceModel::busy_in(StageRole role) const {
  double sum = 0.0;
  for (const StageLoad& stage : load_.stages)
    if (stage.role == role) sum += per_item(stage);
  return sum;
}

// The more of the cores the process has, the more of the queueing is for itself; what others have
// they keep. Threads without work look for some for a while, on cores that nobody wants.
void PaceModel::settle(Pool& pool, const monitor::ThreadTime& time) {
  const double samples = static_cast<double>(pace_.samples);
  pool.cpu_s = std::min(pool.busy_s, time.cpu_s / samples);
  cpu_s_ = std::max(cpu_s_ - (time.cpu_s / samples - pool.cpu_s), pool.cpu_s);
  const double queued_s = std::min(time.queued_s / samples, pool.busy_s - pool.cpu_s);
  const double at_work_s = pool.busy_s - queued_s;
  pool.awake_share = at_work_s > 0.0 ? pool.cpu_s / at_work_s : 0.0;
  pool.busy_s -= queued_s * std::clamp(pace_.process_share, 0.0, 1.0);
}

void PaceModel::leave_queueing_out() {
  workers_.busy_s = busy_in(StageRole::worker);
  io_.busy_s = busy_in(StageRole::io);
  if (!pace_.threads || pace_.samples <= 0) return guess_cpu();
  const double workers_s = workers_.busy_s;
  const double io_s = io_.busy_s;
  settle(workers_, pace_.threads->workers);
  settle(io_, pace_.threads->io);
  for (StageLoad& stage : load_.stages) {
    if (stage.role == StageRole::worker && workers_s > 0.0)
      stage.busy_s *= workers_.busy_s / workers_s;
    if (stage.role == StageRole::io && io_s > 0.0) stage.busy_s *= io_.busy_s / io_s;
  }
}

// Where the kernel keeps no times of threads: all stages alike, what the step takes on the CPU left
// out.
void PaceModel::guess_cpu() {
  const bool on_cpu = !pace_.stage.empty() && !pace_.budget.on_gpu;
  const double samples = static_cast<double>(pace_.samples);
  const double step_s = on_cpu && samples > 0.0 ? pace_.budget.compute_s / samples : 0.0;
  const double busy_s = workers_.busy_s + io_.busy_s;
  const double share = busy_s > 0.0 ? std::clamp((cpu_s_ - step_s) / busy_s, 0.0, 1.0) : 0.0;
  for (Pool* const pool : {&workers_, &io_}) {
    pool->cpu_s = share * pool->busy_s;
    pool->awake_share = share;
  }
}

const PaceModel::Pool& PaceModel::pool(StageRole role) const {
  return role == StageRole::io ? io_ : workers_;
}

bool PaceModel::sleeps(StageRole role) const {
  return pool(role).awake_share < awake_from;
}

// The step, the pools and the cores side by side.
PaceModel::Limit PaceModel::limit(const LoaderLoad& load, double cpu_s) const {
  std::array<double, 5> needs{device_per_s_ > 0.0 ? 1.0 / device_per_s_ : 0.0, cpu_s / cores_};
  for (const monitor::StageCapacity& stage : monitor::stage_capacities(load)) {
    double& need = needs.at(2 + static_cast<std::size_t>(stage.role));
    if (std::isfinite(stage.capacity)) need = std::max(need, 1.0 / stage.capacity);
  }
  const auto most = std::ranges::max_element(needs);
  Limit limit{.slowest = static_cast<std::size_t>(most - needs.begin()), .slowest_s = *most};
  *most = 0.0;
  limit.next_s = *std::ranges::max_element(needs);
  return limit;
}

double PaceModel::step_busy_s() const {
  const monitor::StepBudget& budget = pace_.budget;
  return budget.steps > 0 ? (budget.wall_s - budget.data_wait_s) / static_cast<double>(budget.steps)
                          : 0.0;
}

// The mean of those that are long.
double PaceModel::long_wait_s() const {
  const monitor::StepBudget& budget = pace_.budget;
  const double share = budget.long_wait_share > 0.0 ? budget.long_wait_share : 1.0;
  return budget.steps > 0 ? budget.data_wait_s / (share * static_cast<double>(budget.steps)) : 0.0;
}

int PaceModel::batches_in_long_wait() const {
  const double longest_s = std::max(pace_.budget.wait_p99_s, long_wait_s());
  const double step_s = step_busy_s();
  return step_s > 0.0 ? static_cast<int>(std::min(std::ceil(longest_s / step_s), 1e6)) : 0;
}

// A wait no longer than the work of one sample is that sample's: more threads do not shorten it.
bool PaceModel::one_sample_holds_up(const PaceChange& change) const {
  const double wait_s = long_wait_s();
  return std::ranges::any_of(pace_.stats.stages, [&](const StageStats& stage) {
    return stage.place != StageStats::Place::transfer && !spares(change, stage.role) &&
           wait_s > 0.0 && stage.service.max_s >= wait_s;
  });
}

// Batches that are ready are there while the next one is late: a wait is shorter by what they last.
double PaceModel::with_more_ahead(int batches) const {
  const double lost_s = std::max(now_s_ - slowest_s_, 0.0);
  const double wait_s = long_wait_s();
  const double hidden = wait_s > 0.0 ? std::min(batches * step_busy_s() / wait_s, 1.0) : 1.0;
  return 1.0 / (slowest_s_ + lost_s * (1.0 - hidden));
}

// What is lost where two are as slow as each other is not lost where the others are far behind, nor
// what is lost between the pieces of a pool's work where that pool is not the slowest any more.
double PaceModel::share_of_loss(const Limit& then, const PaceChange& change) const {
  if (one_sample_holds_up(change)) return 1.0;
  if (then.slowest != limit_.slowest) return then.closeness();
  return then.closeness() < limit_.closeness() ? then.closeness() / limit_.closeness() : 1.0;
}

double PaceModel::predict(const PaceChange& change) const {
  if (!(limit_.slowest_s > 0.0)) return pace_.samples_per_s();
  if (change.more_ahead > 0) return with_more_ahead(change.more_ahead);
  LoaderLoad changed = load_;
  if (change.threads > 0) changed.threads = static_cast<unsigned>(change.threads);
  if (change.io_threads > 0) changed.io_threads = static_cast<unsigned>(change.io_threads);
  double cpu_s = cpu_s_;
  for (StageLoad& stage : changed.stages) {
    if (stage.role == StageRole::transfer || !spares(change, place_of(stage))) continue;
    cpu_s -= pool(stage.role).cpu_share() * per_item(stage);
    stage.busy_s = 0.0;
  }
  if (!change.spared.empty() && pace_.samples > 0) {
    const double copy_s = static_cast<double>(pace_.stats.bytes) /
                          static_cast<double>(pace_.samples) / copied_bytes_per_s;
    changed.stages.push_back({.name = "copy", .busy_s = copy_s, .items = 1});
    cpu_s += copy_s;
  }
  const Limit then = limit(changed, std::max(cpu_s, 0.0));
  if (!(then.slowest_s > 0.0)) return pace_.samples_per_s();
  return 1.0 / (then.slowest_s * (1.0 + loss_ * share_of_loss(then, change)));
}

}  // namespace headrace::inline v1::app
