// From pictures with masks to exported weights, as a new user would.
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/loaders/image_files.h>
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

namespace fs = std::filesystem;

constexpr int side = 48;

void write_file(const fs::path& file, const headrace::test::Bytes& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Bright squares on dark ground; `label` is what the mask stores inside of them.
void write_squares(const fs::path& images, const fs::path& masks, int count, int label) {
  for (int i = 0; i < count; ++i) {
    headrace::test::Pixels picture(static_cast<std::size_t>(side * side * 3), 30);
    headrace::test::Pixels mask(static_cast<std::size_t>(side * side), 0);
    for (int y = 8 + i % 8; y < 24 + i % 8; ++y)
      for (int x = 4 + i % 16; x < 24 + i % 16; ++x) {
        const auto at = static_cast<std::size_t>(y * side + x);
        mask[at] = static_cast<std::uint8_t>(label);
        for (std::size_t c = 0; c < 3; ++c)
          picture[3 * at + c] = 220;
      }
    const std::string name = std::to_string(i) + ".png";
    write_file(images / name, headrace::test::encode_png(
                                  {.width = side, .height = side, .colour = PNG_COLOR_TYPE_RGB},
                                  picture, static_cast<std::size_t>(3 * side)));
    write_file(masks / name, headrace::test::encode_png(
                                 {.width = side, .height = side, .colour = PNG_COLOR_TYPE_GRAY},
                                 mask, static_cast<std::size_t>(side)));
  }
}

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

TEST_CASE("masks that are not as they are said to be are refused, with file and value") {
  const TrainingFolder folder;
  write_squares(folder.path() / "data/images", folder.path() / "data/masks", 16, 200);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\ndata: {train: {folder: data/images, masks: data/masks}}\n"
         "mask: {classes: [{name: ground, values: [0]}, {name: square, values: [255]}]}\n";
  struct Wrong {
    std::string setting;
    std::string said;
  };
  for (const Wrong& wrong :
       std::vector<Wrong>{{"seed=1", "got 200"},
                          {"mask.classes=[{name: a}, {name: b}]", "got 200"},
                          {"mask.classes=[]", "must name 2 to 254 classes"},
                          {"mask.classes=[{name: a, values: [0]}, {name: b, values: [0]}]",
                           "must stand for one class"},
                          {"mask.classes=[{name: a}, {name: a}]", "stands twice"},
                          {"mask.classes=[{values: [0]}]", "name"},
                          {"image.size=40", "must be a multiple of 32"},
                          {"imbalance.weights=inverse", "is not known"},
                          {"data.train.masks=data/none", "data/none"},
                          {"data.train.masks=\"\"", "must name a folder of masks"},
                          {"selected_by=men_dice", "did you mean \"mean_dice\"?"}}) {
    CAPTURE(wrong.setting);
    const Finished finished = folder.train_small({"job.yaml", "--set", wrong.setting});
    CHECK(finished.status != 0);
    CHECK_MESSAGE(contains(finished.err, wrong.said), finished.err);
  }
}
