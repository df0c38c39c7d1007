// The job surface from the challenge's TIFF volumes to predicted ones, as a user would.
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/apps/surface/sheet_volumes.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::best_weights;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::sheet_grid;
using headrace::test::TrainingFolder;
using headrace::test::write_challenge;

namespace fs = std::filesystem;

const std::string job =
    "kind: surface\n"
    "data: {train: {folder: vesuvius}, split: {validation: 0.2, test: 0.2}, epoch_size: 12}\n"
    "volume: {patch: [16, 32, 32], patches: 1, cache: 16MiB}\n"
    "model: {base: 4, blocks: 1, dropout: [0]}\n"
    "augment: [{spatial: {mirror: [0.5, 0.5, 0.5]}}, skeleton, soft_skeleton,\n"
    "          {betti_targets: {side: 8}}]\n"
    "loss: [{bce: {positive: 2}}, {dice: {smooth: 1}}, {cldice: {}, factor: 0.1},\n"
    "       {skeleton: {}, factor: 0.1}, {skeleton_recall: {}, factor: 0.1},\n"
    "       {surface_distance: {}, factor: 0.1}, {bce: {}, on: deep, shares: equal},\n"
    "       {topology: {side: 8, every: 2, after: 1}, factor: 0.001}]\n"
    "training: {epochs: 8, batch: 2, evaluation_batch: 2, learning_rate: 0.01, ema: 0.5}\n"
    "decision: {thresholds: [0.3, 0.5, 0.7], smooth: [0, 1], keep: [all, largest]}\n"
    "device: cpu\n"
    "threads: {torch: 1}\n";

double figure(const fs::path& run, const std::string& heading) {
  std::istringstream lines(content_of(run / "results.csv"));
  std::string head, row, name, cell;
  std::getline(lines, head);
  std::getline(lines, row);
  std::istringstream names(head), cells(row);
  while (std::getline(names, name, ',') && std::getline(cells, cell, ','))
    if (name == heading) return std::stod(cell);
  FAIL("no figure " << heading << " in " << head);
  return 0.0;
}

}  // namespace

TEST_CASE("sheets are learnt, judged by the leaderboard's score, and predicted as TIFF and NIfTI") {
  const TrainingFolder folder(job);
  write_challenge(folder.path() / "vesuvius", 0, 5);
  folder.done({"train", "job.yaml"});
  const fs::path run = folder.only_run();
  const std::string steps = content_of(run / "metrics.jsonl");
  for (const char* term : {"loss_bce", "loss_dice", "loss_cldice", "loss_skeleton\"",
                           "loss_skeleton_recall", "loss_surface_distance", "loss_topology"})
    CHECK_MESSAGE(contains(steps, term), term);
  CHECK(figure(run, "test_surface_dice_2") > 0.7);
  CHECK(figure(run, "test_score") > 0.3);
  CHECK(figure(run, "test_topology_most") >= figure(run, "test_topology_least"));

  // A volume that nobody has labelled, of both formats.
  for (const char* ending : {".tif", ".nii.gz"}) {
    CAPTURE(ending);
    const std::string set = std::string("other") + ending;
    write_challenge(folder.path() / set, 7, 8, ending);
    folder.done({"predict", "--checkpoint", run.string(), "--data", set + "/train_images",
                 "--output", "out" + set});
    const auto made =
        headrace::open_volume(folder.path() / ("out" + set) / ("1007" + std::string(ending)));
    CHECK(made->info().shape == sheet_grid.shape);
    CHECK(made->info().dtype == headrace::DType::uint8);
    CHECK(contains(content_of(folder.path() / ("out" + set) / "dice.csv"), "1007"));
  }
  const Finished judged = folder.done(
      {"evaluate", "--checkpoint", run.string(), "--data", "other.tif", "--output", "e.json"});
  CHECK(contains(content_of(folder.path() / "e.json"), "topology"));
}

TEST_CASE("a surface run with another number of threads gives the same weights") {
  const TrainingFolder folder(job);
  write_challenge(folder.path() / "vesuvius", 0, 4);
  const auto train = [&](const std::string& runs, const std::string& more) {
    folder.done(
        TrainingFolder::train({"training.epochs=2", "memory.measure=false", "runs=" + runs, more}));
    return best_weights(folder.only_run(runs));
  };
  const std::string one = train("one", "threads.loader=1");
  CHECK(train("two", "threads.loader=2") == one);
  CHECK(train("eight", "threads.loader=8") == one);
  CHECK(train("other", "seed=7") != one);
}
