// What saving costs the steps of a training: not at all, in the background, on the training thread.
#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/apps/job/stage_torch.h>
#include <headrace/benchmarks/checkpoint/course.h>
#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/trainer/trainer.h>

#include <algorithm>
#include <chrono>
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

constexpr int no_device = 7;

struct Setting {
  std::int64_t width = 0;
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t every = 0;
  fs::path folder;
  Device device;
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
  const at::Device device = app::torch_device(setting.device);
  network->move_to(device, /*channels_last=*/false);
  Optimizer optimizer(network->parameters(), {});
  Loader loader = course.train(stage, {.batch = setting.batch, .device = setting.device}).build();
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
  Trainer made(
      {.course = course,
       .stage = stage,
       .network = *network,
       .optimizer = optimizer,
       .train = loader,
       .checkpoints = &store},
      {.device = device, .checkpoint_every = saving == Saving::background ? setting.every : 0},
      {.on_step = on_step, .on_checkpoint = on_checkpoint});
  trainer = &made;
  made.run();
  return seen;
}

/// What the training thread does of a save on the CPU: a copy of weights and moments into memory
/// that is kept, and into memory that is new each time.
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

const std::vector<std::string> names = {"no saves", "in the background", "on the training thread"};

/// The rounds of every way to save, in turn.
std::vector<std::vector<Seen>> all_rounds(const Setting& setting, int repeats) {
  std::vector<std::vector<Seen>> all(names.size());
  for (int round = 0; round < repeats; ++round)
    for (std::size_t i = 0; i < names.size(); ++i)
      all[i].push_back(train(setting, static_cast<Saving>(i)));
  return all;
}

std::vector<double> joined(const std::vector<Seen>& rounds, std::vector<double> Seen::*values) {
  std::vector<double> all;
  for (const Seen& round : rounds)
    append(all, round.*values);
  return all;
}

/// By how much the longest step of each round is longer than that of the same round without saves,
/// in `unit_s` seconds.
std::vector<double> delays(const std::vector<Seen>& rounds, const std::vector<Seen>& plain,
                           double unit_s) {
  std::vector<double> all;
  for (std::size_t i = 0; i < rounds.size(); ++i)
    all.push_back((std::ranges::max(rounds[i].steps) - std::ranges::max(plain[i].steps)) / unit_s);
  return all;
}

void measure(const Setting& setting, int repeats, Report& report) {
  const auto all = all_rounds(setting, repeats);
  const double step = median(joined(all[0], &Seen::steps));
  const double save = median(joined(all[2], &Seen::saves));
  std::vector<Row> steps, of_save, of_step;
  for (std::size_t i = 0; i < names.size(); ++i) {
    steps.push_back(figure("a step", names[i], "s", joined(all[i], &Seen::steps)));
    steps.back().reference = names[0];
    steps.back().ratio = steps.back().median / step;
    if (i == 0) continue;
    of_save.push_back(figure("the longest step's delay, of a save's time", names[i], "share",
                             delays(all[i], all[0], save)));
    of_step.push_back(figure("the longest step's delay, of a step's time", names[i], "share",
                             delays(all[i], all[0], step)));
    int saves = 0;
    for (const Seen& round : all[i])
      saves += round.durable;
    of_save.back().note = std::to_string(saves) + " saves";
  }
  of_save.front().goal = share_below(0.05);
  report.add(steps);
  report.add(
      {figure("a save", "all of it, on the training thread", "s", joined(all[2], &Seen::saves))});
  report.add(of_save);
  report.add(of_step);
  if (setting.device.is_cuda()) return;
  const Copies copies = copy_state(setting, 9);
  report.add({figure("a save's copy", "into memory that is kept", "s", copies.kept),
              figure("a save's copy", "into new memory", "s", copies.fresh)});
}

}  // namespace

int main(int argc, char** argv) {
  Options options("checkpoint_benchmark",
                  "what saving costs the steps of a training, in the background and on its thread");
  options.add("device", "cpu", "cpu or cuda")
      .add("width", "2900", "of four linear layers: 4 width^2 weights and two moments of each")
      .add("batch", "64", "rows a step")
      .add("steps", "45", "of a run")
      .add("every", "10", "steps between two checkpoints")
      .add("repeats", "3", "rounds in turn")
      .add("folder", (fs::temp_directory_path() / "headrace-bench-checkpoint").string(),
           "where checkpoints go; emptied")
      .add_json();
  options.parse(argc, argv);
  Setting setting{.width = options.number("width"),
                  .batch = options.number("batch"),
                  .steps = options.number("steps"),
                  .every = options.number("every"),
                  .folder = options.text("folder"),
                  .device = {}};
  Report report("checkpoint_benchmark", options);
  try {
    const bool on_gpu = options.text("device") == "cuda";
    setting.device =
        app::choose_device(on_gpu ? app::DeviceChoice::cuda : app::DeviceChoice::cpu).device;
  } catch (const DeviceError& error) {
    report.missing("the longest step's delay, of a save's time", "headrace", error.what());
    return no_device;
  }
  measure(setting, options.number("repeats"), report);
  fs::remove_all(setting.folder);
}
