#pragma once

#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/config/document.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/whole_configuration.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

// For searches: a job, and a machine that is a formula.
namespace headrace::test {

namespace app = headrace::app;

inline constexpr double step_s = 0.016;  // of the network, for 16 samples

inline const char* const job =
    "kind: glaucoma\ndevice: cpu\ndata: {file: none.h5, prefetch: 1}\n"
    "training: {batch: 16, member: 0}\nthreads: {loader: 1, torch: 1}\n";

/// Work of a sample, in seconds that pass asleep, and memory.
struct Machine {
  double read_s = 0.0;
  double decode_s = 0.002;
  std::uint64_t held_by_thread = 1 << 20;
  /// Throughput of what prefetch is; a loader with one batch ahead has half of it in bursts.
  double one_ahead = 1.0;
  std::vector<app::PaceInput> asked{};
  std::vector<std::string> configurations{};

  app::PaceResult measure(const app::WholeConfiguration& whole, app::PaceInput input) {
    asked.push_back(input);
    configurations.push_back(whole.yaml());
    app::PaceResult result{.input = input, .stage = "train", .cores = 8, .process_share = 0.2};
    const double samples = 16.0 * whole.number("training.batch").value_or(16) / 16.0;
    const int threads = std::max(1, whole.number("threads.loader").value_or(1));
    const int io = std::max(4, whole.number("threads.io").value_or(4));
    double step = step_s * samples / 16.0;
    const bool alone = input == app::PaceInput::device_only;
    const double read = samples * read_s / io;
    const double decode = samples * decode_s / threads;
    double loader = std::max(read, decode);
    if (whole.number("data.prefetch") == 1) loader /= one_ahead;
    const double wall = alone ? step : std::max(step, loader);
    result.samples = static_cast<std::int64_t>(100 * samples);
    result.budget = {.steps = 100,
                     .wall_s = 100 * wall,
                     .data_wait_s = 100 * (wall - step),
                     .compute_s = 100 * step};
    result.process_cores = step / wall;
    result.peak_held = static_cast<std::uint64_t>(threads) * held_by_thread;
    if (!alone) add_stats(result, threads, io);
    return result;
  }

  void add_stats(app::PaceResult& result, int threads, int io) const {
    headrace::LoaderStats& stats = result.stats;
    const auto count = static_cast<double>(result.samples);
    stats.samples = result.samples;
    stats.batches = 100;
    stats.threads = threads;
    stats.io_threads = io;
    stats.slabs = 4;
    stats.wait.total_s = result.budget.data_wait_s;
    stats.step.total_s = result.budget.compute_s;
    const auto add = [&](const char* name, StageStats::Place place, double service_s) {
      StageStats stage;
      stage.name = stage.role = name;
      stage.place = place;
      stage.items = result.samples;
      stage.busy_s = count * service_s;
      stats.stages.push_back(stage);
    };
    if (read_s > 0.0) add("read", StageStats::Place::io, read_s);
    add("decode", StageStats::Place::worker, decode_s);
  }
};

inline app::WholeConfiguration whole(const std::string& yaml = job) {
  return app::read_whole_configuration(app::jobs(), app::parse_document(yaml, "test"));
}

}  // namespace headrace::test
