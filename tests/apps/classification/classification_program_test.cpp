// From a folder of pictures to exported weights, as a new user would.
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

namespace fs = std::filesystem;

void add(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a folder of pictures goes from new to exported weights in five commands") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 40);
  const Finished made =
      folder.run({"new", "classification", "--data", "pictures", "--output", "job.yaml"});
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const std::string job = content_of(folder.path() / "job.yaml");
  CHECK(contains(job, "# 2 classes: a 20, b 20"));
  CHECK(contains(job, "chosen: half of the pictures are at least"));
  CHECK(contains(job, "\n  width: 1.0\n"));  // else the weights fit no network of other libraries

  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  const fs::path run = folder.only_run();
  CHECK(fs::exists(run / "results.png"));
  CHECK(contains(content_of(run / "results.csv"), "macro_f1"));

  const Finished predicted = folder.run(
      {"predict", "--checkpoint", run.string(), "--data", "pictures", "--output", "p.csv"});
  REQUIRE_MESSAGE(predicted.status == 0, predicted.err);
  const std::string csv = content_of(folder.path() / "p.csv");
  CHECK(csv.starts_with("index,file,p_a,p_b,predicted\n"));
  CHECK(contains(csv, "a/0.png"));

  const Finished judged = folder.run(
      {"evaluate", "--checkpoint", run.string(), "--data", "pictures", "--output", "e.json"});
  REQUIRE_MESSAGE(judged.status == 0, judged.err);
  CHECK(contains(content_of(folder.path() / "e.json"), "balanced_accuracy"));

  const Finished exported = folder.run({"export", run.string()});
  REQUIRE_MESSAGE(exported.status == 0, exported.err);
  CHECK(contains(exported.out, "122 tensors of resnet18, width 0.25, "));
  CHECK(contains(content_of(run / "model.safetensors").substr(0, 20000), "layer4.1.bn2.weight"));
}

TEST_CASE(
    "predictions and sheets of mistakes come of a run, its weights, and pictures that are whole") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 40);
  REQUIRE(folder.train_small({"classification", "--data", "pictures"}).status == 0);
  const fs::path run = folder.only_run();
  CHECK(content_of(run / "worst.png").starts_with("\x89PNG"));
  const auto predict = [&](const fs::path& weights, const std::string& output) {
    return folder.run(
        {"predict", "--checkpoint", weights.string(), "--data", "pictures", "--output", output});
  };
  REQUIRE(predict(run, "run.csv").status == 0);
  REQUIRE(predict(run / "checkpoints/run/best.safetensors", "weights.csv").status == 0);
  CHECK(content_of(folder.path() / "run.csv") == content_of(folder.path() / "weights.csv"));
  fs::create_directory(folder.path() / "there");
  const Finished in_folder = predict(run, "there");
  CHECK(in_folder.status == 2);
  CHECK(contains(in_folder.err, "--output must be a file"));

  const Finished judged = folder.run(
      {"evaluate", "--checkpoint", run.string(), "--data", "pictures", "--worst", "worst.png"});
  REQUIRE_MESSAGE(judged.status == 0, judged.err);
  CHECK(content_of(folder.path() / "worst.png").starts_with("\x89PNG"));

  add(folder.path() / "pictures/a/broken.png", "no picture");
  const Finished broken = predict(run, "broken.csv");
  CHECK(broken.status == 3);
  CHECK_MESSAGE(contains(broken.err, "a/broken.png"), broken.err);
  CHECK_FALSE(fs::exists(folder.path() / "broken.csv"));
}

TEST_CASE("folds vote with one threshold, and class weights need no record of theirs") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 40);
  add(folder.path() / "job.yaml",
      "kind: classification\ndata:\n  train: {folder: pictures}\n  split: {folds: 2, test: 0.25}\n"
      "imbalance: {weights: inverse}\npredict: {threshold: fitted}\n");
  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  CHECK(contains(content_of(folder.only_run() / "results.csv"), "\nall together,macro_f1,"));
}

TEST_CASE(
    "nested folds are each tested by a network that has not seen them, with mean and spread") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 40);
  add(folder.path() / "job.yaml",
      "kind: classification\ndata:\n  train: {folder: pictures}\n"
      "  split: {folds: 2, nested: true, validation: 0.3}\n");
  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  CHECK(contains(trained.out, " over 2 folds"));
  CHECK_FALSE(contains(trained.out, "by which the weights were selected"));
  const std::string results = content_of(folder.only_run() / "results.csv");
  CHECK(contains(results, "\nmean,macro_f1,"));
  CHECK(contains(results, "\nstandard deviation,macro_f1,"));
  CHECK_FALSE(contains(results, "all together"));
  const Finished seen = folder.train_small({"job.yaml", "--set", "image.normalise=dataset"});
  CHECK(seen.status == 2);
  CHECK(contains(seen.err, "data.split.nested"));
}

TEST_CASE("a kind and data are trained at once") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 40);
  const Finished trained = folder.train_small({"classification", "--data", "pictures"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  CHECK(contains(content_of(folder.only_run() / "config.yaml"), "kind: classification"));
}

TEST_CASE("a list with patients and several labels is trained, with thresholds of its own") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 40);
  std::string list = "image,label,patient\n";
  for (int i = 0; i < 40; ++i)
    list += std::string("pictures/") + (i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".png," +
            (i % 2 == 0 ? (i % 3 == 0 ? "cat;dog" : "cat") : "dog") + ",p" + std::to_string(i / 4) +
            "\n";
  add(folder.path() / "list.csv", list);
  add(folder.path() / "job.yaml",
      "kind: classification\ndata:\n  train: {source: manifest, file: list.csv, columns: "
      "{label_separator: \";\"}}\n  split: {group: patient, validation: 0.2, test: 0.2}\n"
      "loss: [bce]\nimbalance: {weights: inverse}\npredict: {threshold: fitted}\n");
  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  const fs::path run = folder.only_run();
  CHECK(contains(content_of(run / "results.csv"), "exact_match"));
  const Finished predicted = folder.run(
      {"predict", "--checkpoint", run.string(), "--data", "pictures", "--output", "p.csv"});
  REQUIRE_MESSAGE(predicted.status == 0, predicted.err);
  CHECK(contains(content_of(folder.path() / "p.csv"), "p_cat,p_dog"));
}

TEST_CASE("what cannot be trained is refused before the first step, with the way out") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "pictures", 12);
  add(folder.path() / "notes.txt", "no weights");
  add(folder.path() / "job.yaml",
      "kind: classification\ndata: {train: {source: images, folder: pictures}}\n"
      "training: {batch: 4}\n");
  struct Wrong {
    std::vector<std::string> settings;
    const char* said;
  };
  const std::vector<Wrong> all{
      {{"model.name=resnet19"}, "did you mean \"resnet18\"?"},
      {{"model.name=unet"}, "must be one of resnet18, resnet34, resnet50"},
      {{"model.in_channels=1"}, "model.in_channels must be 3, the channels of the data, got 1"},
      {{"model.width=9"}, "\"model.width\" must be above 0.0 and at most 8.0"},
      {{"model.name=efficient_glaucoma_cnn", "model.hidden=[8]"}, "has a head of its own"},
      {{"model.hidden=[8]", "model.dropout=[0.4, 0.2, 0.2]"}, "each of the head's 2 linear layers"},
      {{"model.dropout=[1]"}, "\"model.dropout.0\" must be at least 0.0 and below 1.0"},
      {{"model.torchscript=net.pt", "model.hidden=[8]"},
       "not used unless model.torchscript is empty"},
      {{"model.weights=gone.safetensors"}, "gone.safetensors"},
      {{"model.weights=notes.txt"}, "notes.txt"},
      {{"model.frozen=[layer1]"}, "model.allow_random_frozen: true"},
      {{"model.encoder=resnet18"}, "not used unless model.name is unet"},
      {{"loss=[]"}, "loss must have a term"},
      {{"loss=[bce]"}, "be cross_entropy, since every record has one class"},
      {{"loss=[cross_entorpy]"}, "did you mean \"cross_entropy\"?"},
      {{"loss=[{cross_entropy: {smothing: 0.1}}]"}, "did you mean \"smoothing\"?"},
      {{"loss=[{cross_entropy: {}, on: deep}]"}, "on must be an output of the network (main)"},
      {{"loss=[bce, cross_entropy]"}, "take one of them"},
      {{"selected_by=macro_f"}, "did you mean \"macro_f1\"?"},
      {{"selected_by=qwk"}, "set ordinal: true"},
      {{"imbalance={sampler: balanced, weights: inverse}"}, "count rare classes twice"},
      {{"predict.tta=[flop]"}, "flip and vertical_flip, got \"flop\""},
      {{"predict.threshold=fited"}, "did you mean \"fitted\"?"},
      {{"data.split={validation: 0.6, test: 0.5}"}, "must leave something to train on"},
      {{"data.split.folds=1"}, "at least 2, got 1"},
      {{"data.split.group=patient"}, "data.train must be a manifest"},
      {{"data.train.folder=picture"}, "picture"},
      {{"data.train.folder=\"\""}, "data.train.folder must name a folder of pictures"},
      {{"data.validation.folder=pictures", "data.split.validation=0.2"},
       "data.split.validation must be 0"},
      {{"image.normalise={mean: [0.5], sdt: [1]}"}, "did you mean \"std\"?"},
      {{"image.size=4"}, "\"image.size\" must be at least 8"},
      {{"augment=[{random_resized_crop: 40}]"}, "must leave pictures of image.size"},
      {{"augment=[normalize]"}, "normalises its pictures itself"},
  };
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.settings.front());
    std::vector<std::string> settings{"device=cpu"};
    settings.insert(settings.end(), wrong.settings.begin(), wrong.settings.end());
    check_unstarted(folder.run(TrainingFolder::train(settings)), {wrong.said});
  }
}
