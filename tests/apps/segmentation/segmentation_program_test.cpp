// From pictures with masks to exported weights, as a new user would.
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::TrainingFolder;
using headrace::test::write_squares;

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("pictures with masks go from new to exported weights") {
  const TrainingFolder folder;
  write_squares(folder.path() / "data/images", folder.path() / "data/masks", 30, 255);
  const Finished made =
      folder.run({"new", "segmentation", "--data", "data", "--output", "job.yaml"});
  REQUIRE_MESSAGE(made.status == 0, made.err);
  CHECK(contains(content_of(folder.path() / "job.yaml"), "values: [255]"));

  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  const fs::path run = folder.only_run();
  CHECK(contains(content_of(run / "results.csv"), "dice_class1"));

  const Finished judged = folder.run(
      {"evaluate", "--checkpoint", run.string(), "--data", "data", "--output", "e.json"});
  REQUIRE_MESSAGE(judged.status == 0, judged.err);
  CHECK(contains(content_of(folder.path() / "e.json"), "mean_iou"));

  const Finished exported = folder.run({"export", run.string()});
  REQUIRE_MESSAGE(exported.status == 0, exported.err);
  CHECK(contains(content_of(run / "model.safetensors").substr(0, 40000),
                 "decoder.blocks.0.conv1.0.weight"));
}

TEST_CASE("one mask is learnt by sigmoids, with a threshold of its own") {
  const TrainingFolder folder;
  write_squares(folder.path() / "data/images", folder.path() / "data/masks", 30, 1);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\ndata: {train: {folder: data/images, masks: data/masks}}\n"
         "mask: {classes: [{name: ground}, {name: square}]}\nloss: [bce, dice]\n"
         "predict: {threshold: fitted, tta: [flip]}\n";
  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  CHECK(contains(content_of(folder.only_run() / "results.csv"), "threshold_square"));
}

TEST_CASE("nnU-Net's networks learn masks, too") {
  const TrainingFolder folder;
  write_squares(folder.path() / "data/images", folder.path() / "data/masks", 16, 1);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\ndata: {train: {folder: data/images, masks: data/masks}}\n"
         "mask: {classes: [{name: ground}, {name: square}]}\nmodel: {name: plain_conv_unet}\n"
         "loss: [cross_entropy, {dice: {}, on: deep, factor: 0.5}]\n";
  const Finished trained = folder.train_small({"job.yaml"});
  CHECK_MESSAGE(trained.status == 0, trained.err);
}
