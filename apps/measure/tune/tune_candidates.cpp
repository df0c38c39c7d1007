#include <headrace/apps/config/units.h>
#include <headrace/apps/measure/tune/pace_model.h>
#include <headrace/apps/measure/tune/tune_candidates.h>
#include <headrace/monitor/stage_load.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::StageLoad;
using monitor::StageRole;

constexpr double reserve = 1.1;           // aim a tenth above what is asked
constexpr int most_threads_per_core = 4;  // where they sleep
constexpr int most_io_threads = 64;
constexpr int most_prefetch = 64;
constexpr double waits_from = 0.05;  // of a step
constexpr double full_from = 0.85;   // of the cores

class Proposer {
 public:
  Proposer(const TunePoint& point, const TuneBudget& budget)
      : point_(point), budget_(budget), model_(point.pace, point.device_per_s, budget.cores) {}

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

  void loader_threads() {
    const int now = static_cast<int>(model_.load().threads);
    const bool sleeps = model_.sleeps(StageRole::worker);
    const int most = std::max(now, budget_.cores * (sleeps ? most_threads_per_core : 1));
    const auto propose = [&](int threads, bool explores) {
      if (threads != now)
        add("threads.loader", threads, model_.predict({.threads = threads}), explores);
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
      if (threads != now) add("threads.io", threads, model_.predict({.io_threads = threads}));
  }

  void prefetch() {
    if (waits() < waits_from) return;
    const int now = point_.configuration.number("data.prefetch").value_or(0);
    const double late = reserve * model_.batches_in_long_wait();
    const int hides = now + static_cast<int>(std::min(std::ceil(late), 1.0 * most_prefetch));
    const int wanted = std::max({2 * now, 4, hides});
    const int ahead = std::min(wanted, most_prefetch);
    if (now > 0 && ahead > now)
      add("data.prefetch", ahead, model_.predict({.more_ahead = ahead - now}));
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
      add("data.cache.memory", size_for(point_.bytes.decoded),
          model_.predict({.spared = {"read", "decode"}}));
  }

  void resident() {
    const auto now = point_.configuration.value("data.resident");
    if (!now || parse_bytes(*now).value_or(Bytes{}).value >= point_.bytes.rows) return;
    if (fits(point_.bytes.rows))
      add("data.resident", size_for(point_.bytes.rows), model_.predict({.spared = {"read"}}));
  }

  void on_device() {
    if (!point_.pace.budget.on_gpu) return;
    const double most = point_.device_per_s > 0 ? point_.device_per_s : rate();
    if (point_.configuration.value("data.residence") == "host")
      add("data.residence", "device", most);
    if (budget_.decode && point_.configuration.value("image.decode") == "cpu")
      add("image.decode", "cuda", model_.predict({.spared = {"decode"}}), true);
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

  const TunePoint& point_;
  const TuneBudget& budget_;
  PaceModel model_;
  std::vector<TuneCandidate> found_;
};

}  // namespace

std::vector<TuneCandidate> tune_candidates(const TunePoint& point, const TuneBudget& budget) {
  return Proposer(point, budget).propose();
}

}  // namespace headrace::inline v1::app
