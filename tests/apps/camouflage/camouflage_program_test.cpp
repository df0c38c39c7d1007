// The job as a user has it: two stages, the test in the masks' own sizes, a stop in the second
// stage, masks of new pictures, and words for what does not suit.
#include <headrace/tests/apps/camouflage/hidden_animals.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::StartedProgram;
using headrace::test::TrainingFolder;
using nlohmann::json;

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const std::string animals_job = R"(kind: camouflage
device: cpu
seed: 5
tensorboard: false
data:
  train: {source: pairs, folder: animals/Train/Imgs, masks: animals/Train/GT_Object}
  validation: {source: pairs, folder: animals/Val/Imgs, masks: animals/Val/GT_Object}
  test: {source: pairs, folder: animals/Test/Imgs, masks: animals/Test/GT_Object}
  listings: ''
image: {size: 64}
augment: [flip, rotate90]
model: {name: camoxpert_lean, encoder: edgenext_xx_small, width: 0.5, allow_random_frozen: true}
training:
  evaluation_batch: 6
  accumulation: 1
  learning_rate: 0.003
  ema: 0.9
  early_stopping: 0
  stages:
    - {name: decoder, epochs: 1, batch: 4, frozen: [backbone.]}
    - name: whole
      epochs: 4
      batch: 2
      keep_moments: true
      frozen: [backbone.stem., backbone.stages.0., backbone.stages.1., backbone.stages.2.]
      groups: [{pattern: backbone., rate_factor: 0.5}]
      unfreeze:
        - {at: 1, patterns: [backbone.stages.2.], warmup: 2}
        - {at: 2, patterns: [backbone.stem., backbone.stages.0., backbone.stages.1.], warmup: 2}
threads: {loader: 2, torch: 1}
)";

class Animals : public TrainingFolder {
 public:
  Animals() : TrainingFolder(animals_job) {
    headrace::test::write_animals(path() / "animals/Train", 24);
    headrace::test::write_animals(path() / "animals/Val", 6);
    headrace::test::write_animals(path() / "animals/Test", 9, 100);
  }
};

json result_of(const fs::path& run) {
  return json::parse(content_of(run / "result.json"));
}

std::vector<json> epochs_of(const fs::path& run) {
  std::vector<json> rows;
  std::istringstream lines(content_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    if (row.contains("train_loss")) rows.push_back(row);
  }
  return rows;
}

// Figures of two passes, by other threads.
void check_near(const json& figures, const json& others) {
  CHECK(figures.size() >= 12);
  for (const auto& [name, value] : figures.items())
    CHECK_MESSAGE(
        value.get<double>() == doctest::Approx(others.at(name).get<double>()).epsilon(0.002), name);
}

}  // namespace

TEST_CASE("both stages are trained, and the test has every published measure") {
  const Animals animals;
  const Finished trained = animals.done(Animals::train({}));
  const fs::path run = animals.only_run();
  const std::vector<json> epochs = epochs_of(run);
  REQUIRE(epochs.size() == 5);
  CHECK(epochs.front().at("stage") == "decoder");
  CHECK(epochs.back().at("stage") == "whole");
  for (const json& epoch : epochs) {
    CHECK(epoch.at("train_expert_entropy").get<double>() > 0.0);
    for (const char* term : {"train_loss_bce", "train_loss_edge", "train_loss_balance",
                             "train_loss_bce_deep1", "val_iou", "val_mae"})
      CHECK_MESSAGE(epoch.contains(term), term);
  }
  const std::string log = content_of(run / "log.txt");
  CHECK(contains(log, "epoch 1 unfreezes"));
  CHECK(contains(log, "epoch 2 unfreezes"));
  const json test = result_of(run).at("members").at(0).at("test");
  for (const char* figure : {"iou", "iou_low", "dice", "mae", "s_measure", "e_mean", "e_max",
                             "e_adaptive", "f_mean", "f_max", "f_adaptive", "weighted_f"})
    CHECK_MESSAGE(test.contains(figure), figure);
  CHECK(test.at("iou_low").get<double>() <= test.at("iou").get<double>());
}

TEST_CASE("a run that is killed in its second stage goes on to the same weights and figures") {
  const Animals animals;
  animals.done(Animals::train({"runs=whole"}));
  StartedProgram program(headrace::test::headrace_program(),
                         Animals::train({"runs=killed", "training.checkpoint_every=1",
                                         "delay.transfer=300ms", "memory.measure=false"}),
                         {.folder = animals.path()});
  const auto log = [&] {
    const std::vector<fs::path> runs = animals.runs("killed");
    return runs.empty() ? std::string() : content_of(runs.front() / "log.txt");
  };
  REQUIRE(program.wait_until([&] { return contains(log(), "epoch 1 unfreezes"); }));
  program.signal(SIGKILL);
  program.wait();
  const fs::path killed = animals.only_run("killed");
  CHECK_FALSE(fs::exists(killed / "result.json"));
  animals.done({"train", "--resume", killed.string(), "--set", "delay.transfer=0ms"});
  CHECK(result_of(killed).at("members") == result_of(animals.only_run("whole")).at("members"));
  CHECK(headrace::test::best_weights(killed) ==
        headrace::test::best_weights(animals.only_run("whole")));
}

TEST_CASE("predictions are masks of 0 and 255 in their pictures' sizes, and can be judged again") {
  const Animals animals;
  animals.done(Animals::train({"training.stages=[{epochs: 1, batch: 4}]"}));
  const fs::path run = animals.only_run();
  animals.done({"predict", "--checkpoint", run.string(), "--data", "animals/Test/Imgs", "--output",
                "masks"});
  CHECK(std::distance(fs::directory_iterator(animals.path() / "masks"), fs::directory_iterator()) ==
        9);
  animals.done(
      {"evaluate", "--checkpoint", run.string(), "--data", "animals/Test", "--output", "e.json"});
  const json judged = json::parse(content_of(animals.path() / "e.json"));
  check_near(judged.at("members").at(0).at("figures"),
             result_of(run).at("members").at(0).at("test"));
}

TEST_CASE("folds vote, and other data are judged by them without what says NonCAM") {
  const Animals animals;
  animals.done(Animals::train({"training.stages=[{epochs: 1, batch: 4}]",
                               "data.validation={source: pairs}", "data.split.folds=2"}));
  const fs::path run = animals.only_run();
  headrace::test::write_plain_picture(animals.path() / "animals/Test", 1, 100);
  animals.done(
      {"evaluate", "--checkpoint", run.string(), "--data", "animals/Test", "--output", "e.json"});
  const json judged = json::parse(content_of(animals.path() / "e.json"));
  CHECK(judged.at("members").size() == 2);
  check_near(judged.at("vote"), result_of(run).at("vote").at("test"));
}

TEST_CASE("a measure that only the masks' own sizes have may select") {
  const Animals animals;
  animals.done(
      Animals::train({"training.stages=[{epochs: 1, batch: 4}]", "selected_by=s_measure"}));
  CHECK(epochs_of(animals.only_run()).front().contains("val_weighted_f"));
}

TEST_CASE("a frozen backbone without weights and masks of 0 and 1 are refused before a step") {
  const Animals animals;
  animals.check_refused({"frozen",
                         [](const fs::path&) {},
                         {"model.allow_random_frozen=false"},
                         {"model.allow_random_frozen"}});
  fs::remove_all(animals.path() / "animals/Val");
  headrace::test::write_squares(animals.path() / "animals/Val/Imgs",
                                animals.path() / "animals/Val/GT_Object", 4, 1);
  animals.check_refused({"masks", {}, {}, {"128 or more", "kind: segmentation"}});
}
