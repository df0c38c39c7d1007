// What saving costs the steps of a training: not at all, in the background, on the training thread.
#include <headrace/benchmarks/checkpoint/course.h>
#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/training/named_state.h>
#include <headrace/training/trainer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Context.h>

using namespace headrace;
using namespace headrace::bench;
using namespace headrace::training;

namespace {

namespace fs = std::filesystem;

struct Setting {
  std::int64_t width = 0;
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t every = 0;
  fs::path folder;
};

/// What one run has shown, in seconds.
struct Seen {
  std::vector<double> steps;  ///< the first, behind which every run is saved, is left out
  std::vector<double> saves;  ///< those on the training thread
  int durable = 0;            ///< checkpoints that were, but the first and the last
};

enum class Saving { none, background, training_thread };

/// Trains one epoch of so many steps.
Seen train(const Setting& setting, Saving saving) {
  fs::remove_all(setting.folder);
  CheckpointStore store(setting.folder);
  const WideCourse course(setting.width, setting.batch * setting.steps);
  const Stage stage{.epochs = 1, .batch = setting.batch};
  at::manual_seed(1);
  const auto network = course.network();
  Optimizer optimizer(network->parameters(), {});
  Loader loader = course.train(stage, {.batch = setting.batch}).build();
  Seen seen;
  double last = 0;
  Trainer* trainer = nullptr;
  const auto on_step = [&](const StepReport& step) {
    if (step.step > 2) seen.steps.push_back(seconds() - last);
    last = seconds();
    if (saving != Saving::training_thread || step.step % setting.every != 0) return;
    store.save(trainer->checkpoint());
    seen.saves.push_back(seconds() - last);
    ++seen.durable;
  };
  const auto on_checkpoint = [&](const fs::path&, const Progress& saved) {
    if (saved.step > 1 && saved.epoch == 0) ++seen.durable;
  };
  Trainer made({.course = course,
                .stage = stage,
                .network = *network,
                .optimizer = optimizer,
                .train = loader,
                .checkpoints = &store},
               {.checkpoint_every = saving == Saving::background ? setting.every : 0},
               {.on_step = on_step, .on_checkpoint = on_checkpoint});
  trainer = &made;
  made.run();
  return seen;
}

/// What the training thread does of a save: a copy of weights and moments into
/// memory that is kept, and into memory that is new each time.
struct Copies {
  std::vector<double> kept;
  std::vector<double> fresh;
};

Copies copy_state(const Setting& setting, int repeats) {
  const WideCourse course(setting.width, setting.batch);
  const auto network = course.network();
  TensorMap state = snapshot(*network);
  for (const auto& [name, tensor] : snapshot(*network)) {
    state.emplace(name + ".exp_avg", tensor.clone());
    state.emplace(name + ".exp_avg_sq", tensor.clone());
  }
  TensorMap kept;
  update_snapshot(kept, state);
  Copies copies;
  for (int i = 0; i < repeats; ++i) {
    double start = seconds();
    update_snapshot(kept, state);
    copies.kept.push_back(seconds() - start);
    start = seconds();
    const TensorMap fresh = snapshot(state);
    copies.fresh.push_back(seconds() - start);
  }
  return copies;
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

Row figure(const std::string& section, const std::string& contender,
           const std::vector<double>& values) {
  const auto extremes = std::ranges::minmax(values);
  return {.section = section,
          .contender = contender,
          .unit = "s",
          .median = median(values),
          .low = extremes.min,
          .high = extremes.max,
          .repeats = static_cast<int>(values.size())};
}

/// What a save adds to the steps between it and the next one, beside steps without saves.
double added(const std::vector<double>& steps, double plain, int saves) {
  double sum = 0;
  for (const double step : steps)
    sum += step - plain;
  return sum / saves;
}

}  // namespace

int main(int argc, char** argv) {
  Options options("checkpoint_benchmark",
                  "what saving costs the steps of a training, in the background and on its thread");
  options.add("width", "2500", "of four linear layers: 4 width^2 weights")
      .add("batch", "64", "rows a step")
      .add("steps", "45", "of a run")
      .add("every", "10", "steps between two checkpoints")
      .add("repeats", "3", "rounds in turn")
      .add("folder", (fs::temp_directory_path() / "headrace-bench-checkpoint").string(),
           "where checkpoints go; emptied")
      .add_json();
  options.parse(argc, argv);
  const Setting setting{.width = options.number("width"),
                        .batch = options.number("batch"),
                        .steps = options.number("steps"),
                        .every = options.number("every"),
                        .folder = options.text("folder")};
  Report report("checkpoint_benchmark", options);
  const std::vector<std::string> names = {"no saves", "in the background",
                                          "on the training thread"};
  std::vector<Seen> all(names.size());
  for (int round = 0; round < options.number("repeats"); ++round)
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Seen seen = train(setting, static_cast<Saving>(i));
      append(all[i].steps, seen.steps);
      append(all[i].saves, seen.saves);
      all[i].durable += seen.durable;
    }
  const std::string steps = "a step, seconds";
  std::vector<Row> rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows.push_back(figure(steps, names[i], all[i].steps));
    rows.back().reference = names[0];
    rows.back().ratio = rows.back().median / median(all[0].steps);
  }
  report.add(rows);
  const Copies copies = copy_state(setting, 9);
  report.add({figure("a save, seconds", "all of it, on the training thread", all[2].saves),
              figure("a save, seconds", "the copy, into memory that is kept", copies.kept),
              figure("a save, seconds", "the copy, into new memory", copies.fresh)});
  const double save = median(all[2].saves);
  std::printf("the copy is %.1f %% of a save\n", 100 * median(copies.kept) / save);
  const double plain = median(all[0].steps);
  for (std::size_t i = 1; i < names.size(); ++i)
    std::printf(
        "%s: %d saves, each adds %.3f s to the steps; the longest step is %.3f s longer "
        "than the middle one without saves: %.1f %% of a save\n",
        names[i].c_str(), all[i].durable, added(all[i].steps, plain, all[i].durable),
        std::ranges::max(all[i].steps) - plain,
        100 * (std::ranges::max(all[i].steps) - plain) / save);
  fs::remove_all(setting.folder);
}
