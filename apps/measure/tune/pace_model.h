#pragma once

#include <headrace/apps/backend/pace_trial.h>
#include <headrace/monitor/stage_load.h>

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What is other in a changed configuration. What is 0 or empty stays as it is.
struct PaceChange {
  int threads = 0;  ///< workers
  int io_threads = 0;
  int more_ahead = 0;  ///< batches made ready beyond those that are
  std::vector<std::string>
      spared{};  ///< places in the graph whose work is no longer done: "decode"
};

/// What a pace comes to when its configuration is changed. A sample takes as long as the slowest of
/// the step, of each pool of threads and of the cores needs for it, and what is lost at hand. Time
/// in which threads wait for a core that the others of the process have is no work of their stage;
/// what the cores have time for goes by CPU time.
class PaceModel {
 public:
  /// `device_per_s`: samples/s of the step alone; 0: there is none. `pace` outlives the model.
  PaceModel(const PaceResult& pace, double device_per_s, int cores);

  /// The window's work, without what its threads waited for each other's cores.
  const monitor::LoaderLoad& load() const { return load_; }
  /// Samples/s that the step, or another consumer, would take; 0: there is none.
  double device_per_s() const { return device_per_s_; }
  /// Whether the threads of that pool sleep for much of their work: more of them than cores help.
  bool sleeps(monitor::StageRole role) const;
  /// Batches made ready that last as long as the long waits at hand.
  int batches_in_long_wait() const;
  /// Samples/s.
  double predict(const PaceChange& change) const;

 private:
  // Seconds a sample that the slowest needs, and the next.
  struct Limit {
    std::size_t slowest = 0;  // of the step, the cores and the pools
    double slowest_s = 0.0;
    double next_s = 0.0;
    double closeness() const { return slowest_s > 0.0 ? next_s / slowest_s : 0.0; }
  };
  // Of a pool of threads, seconds a sample: in its stages, and on cores.
  struct Pool {
    double busy_s = 0.0;
    double cpu_s = 0.0;
    double awake_share = 0.0;  // of the time in stages that they did not wait for a core
    double cpu_share() const { return busy_s > 0.0 ? cpu_s / busy_s : 0.0; }
  };

  double step_rate() const;
  double share_of_loss(const Limit& then, const PaceChange& change) const;
  double busy_in(monitor::StageRole role) const;
  void leave_queueing_out();
  void settle(Pool& pool, const monitor::ThreadTime& time);
  void guess_cpu();
  const Pool& pool(monitor::StageRole role) const;
  bool one_sample_holds_up(const PaceChange& change) const;
  double long_wait_s() const;
  double step_busy_s() const;
  Limit limit(const monitor::LoaderLoad& load, double cpu_s) const;
  double with_more_ahead(int batches) const;

  const PaceResult& pace_;
  int cores_;
  monitor::LoaderLoad load_;
  double now_s_ = 0.0;  // a sample, as measured
  double cpu_s_ = 0.0;  // of all that the process has to do for one
  double device_per_s_ = 0.0;
  Pool workers_;
  Pool io_;
  double slowest_s_ = 0.0;  // a sample, queueing included
  double loss_ = 0.0;       // beyond that, of it
  Limit limit_;
};

}  // namespace headrace::inline v1::app
