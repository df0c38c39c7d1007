#include <headrace/apps/config/units.h>
#include <headrace/apps/doctor/tune_candidates.h>
#include <headrace/monitor/stage_load.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::LoaderLoad;
using monitor::StageLoad;
using monitor::StageRole;

constexpr double reserve = 1.1;           // aim a tenth above what is asked
constexpr double idle_below = 0.7;        // of the cores: threads sleep more than they work
constexpr int most_threads_per_core = 4;  // where they sleep
constexpr int most_io_threads = 64;
constexpr int most_prefetch = 64;
constexpr double waits_from = 0.05;  // of a step
constexpr double full_from = 0.85;   // of the cores

// Samples/s that a load's stages and the cores allow.
class Model {
 public:
  Model(const TunePoint& point, const TuneBudget& budget)
      : point_(point), cores_(budget.cores), load_(monitor::loader_load(point.pace.stats)) {
    const double samples = static_cast<double>(point.pace.samples);
    cpu_s_ = samples > 0 ? point.pace.process_cores * point.pace.budget.wall_s / samples : 0.0;
    device_per_s_ = step_rate();
    const double expected = limit(load_, 0.0);
    if (expected > 0.0)
      efficiency_ = std::clamp(point.pace.samples_per_s() / expected, least_efficiency, 1.0);
  }

  const LoaderLoad& load() const { return load_; }
  // Samples/s that the step, or another consumer, would take; 0: there is none.
  double device_per_s() const { return device_per_s_; }
  // Of all that the process does for a sample, in seconds of a core.
  double cpu_s() const { return cpu_s_; }

  // Where `saved_s` of work a sample are no longer done.
  double predict(const LoaderLoad& changed, double saved_s = 0.0) const {
    return efficiency_ * limit(changed, saved_s);
  }
  // The same without what bursts cost.
  double without_bursts() const { return limit(load_, 0.0); }

 private:
  static constexpr double least_efficiency = 0.5;

  // Beside a loader a step takes longer than alone, and while it waits not as long as when it does
  // not: it lies between what it takes alone and what it took here.
  double step_rate() const {
    const double here = monitor::consumer_demand(load_);
    if (point_.device_per_s <= 0.0) return here;
    if (here <= 0.0 || here > point_.device_per_s) return point_.device_per_s;
    return std::sqrt(here * point_.device_per_s);
  }

  double limit(const LoaderLoad& load, double saved_s) const {
    double rate = device_per_s_ > 0 ? device_per_s_ : std::numeric_limits<double>::infinity();
    const auto stages = monitor::stage_capacities(load);
    if (!stages.empty()) rate = std::min(rate, stages.front().capacity);
    const double cpu_s = std::max(0.0, cpu_s_ - saved_s);
    if (cpu_s > 0.0) rate = std::min(rate, static_cast<double>(cores_) / cpu_s);
    return std::isfinite(rate) ? rate : point_.pace.samples_per_s();
  }

  const TunePoint& point_;
  int cores_;
  LoaderLoad load_;
  double cpu_s_ = 0.0;
  double device_per_s_ = 0.0;  // samples/s that the step takes; 0: nothing consumes
  double efficiency_ = 1.0;
};

class Proposer {
 public:
  Proposer(const TunePoint& point, const TuneBudget& budget)
      : point_(point), budget_(budget), model_(point, budget) {}

  std::vector<TuneCandidate> propose() {
    loader_threads();
    io_threads();
    prefetch();
    cache();
    resident();
    on_device();
    batch();
    torch_threads();
    std::ranges::stable_sort(found_, [](const TuneCandidate& a, const TuneCandidate& b) {
      if (a.explores != b.explores) return b.explores;
      return a.predicted > b.predicted;
    });
    return std::move(found_);
  }

 private:
  double rate() const { return point_.pace.samples_per_s(); }
  double waits() const { return point_.pace.budget.data_stall_fraction(); }
  bool sleeps() const { return point_.pace.process_share < idle_below; }

  void add(const std::string& key, const std::string& value, double predicted,
           bool explores = false) {
    const auto old_value = point_.configuration.value(key);
    if (!old_value || *old_value == value) return;
    found_.push_back({.change = {.key = key, .old_value = *old_value, .new_value = value},
                      .predicted = predicted,
                      .explores = explores});
  }
  void add(const std::string& key, int value, double predicted, bool explores = false) {
    add(key, std::to_string(value), predicted, explores);
  }

  // How many times more a pool would have to deliver.
  double factor(StageRole role) const {
    for (const monitor::StageCapacity& stage : monitor::stage_capacities(model_.load()))
      if (stage.role == role && model_.device_per_s() > 0)
        return reserve * model_.device_per_s() / stage.capacity;
    return 2.0;
  }

  bool works(StageRole role) const {
    return std::ranges::any_of(model_.load().stages, [role](const StageLoad& stage) {
      return stage.role == role && stage.busy_s > 0;
    });
  }

  static int scaled(int count, double by, int most) {
    const double wanted = std::ceil(count * std::max(by, 1.0));
    return std::max(count, static_cast<int>(std::min<double>(wanted, most)));
  }

  double with_threads(int threads, bool io) const {
    LoaderLoad changed = model_.load();
    (io ? changed.io_threads : changed.threads) = static_cast<unsigned>(threads);
    return model_.predict(changed);
  }

  void loader_threads() {
    const int now = static_cast<int>(model_.load().threads);
    const int most = budget_.cores * (sleeps() ? most_threads_per_core : 1);
    const auto propose = [&](int threads, bool explores) {
      if (threads != now) add("threads.loader", threads, with_threads(threads, false), explores);
    };
    if (works(StageRole::worker) && waits() >= waits_from) {
      propose(scaled(now, factor(StageRole::worker), most), false);
      propose(std::min(2 * now, most), false);
    }
    // The step and the workers want the same cores.
    if (now > 1 && point_.pace.process_share >= full_from) propose(now / 2, true);
  }

  void io_threads() {
    if (!works(StageRole::io) || waits() < waits_from) return;
    const int now = static_cast<int>(model_.load().io_threads);
    for (const int threads :
         {scaled(now, factor(StageRole::io), most_io_threads), std::min(2 * now, most_io_threads)})
      if (threads != now) add("threads.io", threads, with_threads(threads, true));
  }

  void prefetch() {
    if (waits() < waits_from) return;
    const int now = point_.configuration.number("data.prefetch").value_or(0);
    const int more = std::min(std::max(2 * now, 4), most_prefetch);
    if (now > 0) add("data.prefetch", more, std::max(model_.without_bursts(), rate()));
  }

  // Work that is no longer done: of stages in these places of the graph.
  double without(std::initializer_list<std::string_view> places) const {
    LoaderLoad changed = model_.load();
    double saved_s = 0.0;
    for (StageLoad& stage : changed.stages) {
      const std::string& place = stage.stage.empty() ? stage.name : stage.stage;
      if (std::ranges::find(places, place) == places.end() || stage.items == 0) continue;
      saved_s += stage.busy_s / static_cast<double>(stage.items);
      stage.busy_s = 0.0;
    }
    return model_.predict(changed, std::min(saved_s, most_saved * model_.cpu_s()));
  }

  bool fits(std::uint64_t bytes) const {
    return bytes > 0 && (budget_.memory == 0 || point_.pace.peak_held + bytes <= budget_.memory);
  }

  // Whole MiB, with room for what a cache keeps beside its records.
  static std::string size_for(std::uint64_t bytes) {
    constexpr std::uint64_t mib = 1U << 20;
    return format_exact(Bytes{(bytes + bytes / 16 + mib) / mib * mib});
  }

  void cache() {
    const auto memory = point_.configuration.value("data.cache.memory");
    const auto disk = point_.configuration.value("data.cache.disk");
    if (!memory || !disk || parse_bytes(*disk).value_or(Bytes{}).value > 0) return;
    if (parse_bytes(*memory).value_or(Bytes{}).value >= point_.bytes.decoded) return;
    if (fits(point_.bytes.decoded))
      add("data.cache.memory", size_for(point_.bytes.decoded), without({"read", "decode"}));
  }

  void resident() {
    const auto now = point_.configuration.value("data.resident");
    if (!now || parse_bytes(*now).value_or(Bytes{}).value >= point_.bytes.rows) return;
    if (fits(point_.bytes.rows))
      add("data.resident", size_for(point_.bytes.rows), without({"read"}));
  }

  void on_device() {
    if (!point_.pace.budget.on_gpu) return;
    const double most = point_.device_per_s > 0 ? point_.device_per_s : rate();
    if (point_.configuration.value("data.residence") == "host")
      add("data.residence", "device", most);
    if (budget_.decode && point_.configuration.value("image.decode") == "cpu")
      add("image.decode", "cuda", without({"decode"}), true);
  }

  void torch_threads() {
    if (point_.pace.stage.empty() || point_.pace.budget.on_gpu) return;
    const int asked = point_.configuration.number("threads.torch").value_or(0);
    const int now = asked > 0 ? asked : budget_.cores;
    const bool full = point_.pace.process_share >= full_from;
    if (now < budget_.cores && !full) add("threads.torch", budget_.cores, rate(), true);
    if (now > 1 && full) add("threads.torch", std::max(now / 2, 1), rate(), true);
  }

  void batch() {
    if (!budget_.batch) return;
    const char* const key = point_.configuration.trains ? "training.batch" : "batch";
    if (const auto now = point_.configuration.number(key)) add(key, 2 * *now, rate(), true);
  }

  static constexpr double most_saved = 0.9;  // of the process's work

  const TunePoint& point_;
  const TuneBudget& budget_;
  Model model_;
  std::vector<TuneCandidate> found_;
};

}  // namespace

std::vector<TuneCandidate> tune_candidates(const TunePoint& point, const TuneBudget& budget) {
  return Proposer(point, budget).propose();
}

}  // namespace headrace::inline v1::app
