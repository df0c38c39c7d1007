// Features and spectrograms from NumPy and HDF5 files to figures, by YAML alone.
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::Hdf5Writer;
using headrace::test::add_dataset;
using headrace::test::array_rows;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::TrainingFolder;
using headrace::test::write_array;

namespace fs = std::filesystem;

// Trains job.yaml as a test has time for; gives the run's folder.
fs::path trained(const TrainingFolder& folder, const std::vector<std::string>& settings) {
  std::vector<std::string> words{"train", "job.yaml"};
  for (const char* setting :
       {"device=cpu", "threads.torch=1", "training.batch=8", "memory.measure=false"})
    words.insert(words.end(), {"--set", setting});
  for (const std::string& setting : settings)
    words.insert(words.end(), {"--set", setting});
  folder.done(words);
  return folder.only_run();
}

void propose(const TrainingFolder& folder, const std::string& data) {
  folder.done({"new", "classification", "--data", data, "--output", "job.yaml"});
}

std::string predicted(const TrainingFolder& folder, const fs::path& run, const std::string& data) {
  folder.done({"predict", "--checkpoint", run.string(), "--data", data, "--output", "p.csv"});
  return content_of(folder.path() / "p.csv");
}

nlohmann::json judged(const TrainingFolder& folder, const fs::path& run, const std::string& data) {
  folder.done({"evaluate", "--checkpoint", run.string(), "--data", data, "--split", "all",
               "--output", "e.json"});
  return nlohmann::json::parse(content_of(folder.path() / "e.json"));
}

std::int64_t newlines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

// 48 vectors of 6 values with labels of every kind.
void write_hdf5(const fs::path& file) {
  Hdf5Writer writer(file);
  std::vector<float> one_hot;
  std::vector<std::uint8_t> several;
  std::vector<std::int32_t> numbers;
  std::vector<std::int32_t> speakers;
  for (int i = 0; i < 48; ++i) {
    for (int c = 0; c < 3; ++c) {
      one_hot.push_back(i % 3 == c ? 1.0F : 0.0F);
      several.push_back(i % 3 == c || (c == 2 && i % 3 == 0) ? 1 : 0);
    }
    numbers.push_back(i % 3);
    speakers.push_back(i / 4);
  }
  add_dataset<float>(writer, "/features", {48, 6}, array_rows(48, 6, 3));
  add_dataset<float>(writer, "/labels", {48, 3}, one_hot);
  add_dataset<std::int32_t>(writer, "/speaker", {48}, speakers);
  add_dataset<std::uint8_t>(writer, "/tags", {48, 3}, several);
  add_dataset<std::int32_t>(writer, "/numbers", {48}, numbers);
  writer.attribute("/labels", "class_names", "cat, dog, owl");
  writer.finish();
}

}  // namespace

TEST_CASE("a folder of spectrograms of different lengths goes from new to exported weights") {
  const TrainingFolder folder;
  headrace::test::write_spectrograms(folder.path() / "mel", 40, 16, 30);
  propose(folder, "mel");
  const std::string job = content_of(folder.path() / "job.yaml");
  CHECK(contains(job, "# 40 spectrograms float32 [16, 32] at most, median 31 frames"));
  CHECK(contains(job, "# 2 classes: left 20, right 20"));
  CHECK(contains(job, "frames: 31"));
  CHECK(contains(job, "spec_augment"));
  CHECK_FALSE(contains(job, "random_resized_crop"));

  const fs::path run = trained(folder, {"model.width=0.25", "training.epochs=2"});
  CHECK(contains(content_of(run / "results.csv"), "macro_f1"));
  CHECK(contains(content_of(run / "config.yaml"), "frames: 31"));
  CHECK(contains(predicted(folder, run, "mel"), "left/0.npy"));
  CHECK(newlines_of(predicted(folder, run, "mel/right")) == 21);
  CHECK(newlines_of(predicted(folder, run, "mel/left/2.npy")) == 2);
  CHECK(judged(folder, run, "mel").dump().find("balanced_accuracy") != std::string::npos);
  folder.done({"export", run.string()});
  CHECK(contains(content_of(run / "model.safetensors").substr(0, 20000), "layer4.1.bn2.weight"));
}

TEST_CASE("features and one-hot labels of an HDF5 file are learnt, speakers stay whole") {
  const TrainingFolder folder;
  write_hdf5(folder.path() / "a.h5");
  propose(folder, "a.h5");
  const std::string job = content_of(folder.path() / "job.yaml");
  CHECK(contains(job, "# records are the dataset /features, labels /labels, groups /speaker"));
  CHECK(contains(job, "# 48 vectors float32 [6]"));
  CHECK(contains(job, "name: mlp"));
  CHECK(contains(job, "# 3 classes: cat 16, dog 16, owl 16"));

  const fs::path run = trained(folder, {"training.epochs=20"});
  const nlohmann::json figures = judged(folder, run, "a.h5");
  CHECK_MESSAGE(figures["members"][0]["figures"]["accuracy"].get<double>() == 1.0, figures.dump());
  const std::string csv = predicted(folder, run, "a.h5");
  CHECK(csv.starts_with("index,file,p_cat,p_dog,p_owl,predicted\n"));
  CHECK(newlines_of(csv) == 49);
  folder.done({"inspect", "job.yaml"});
  folder.done({"bench", "loader", "job.yaml", "--epochs", "2"});
}

TEST_CASE("several labels a record of an HDF5 file are learnt with thresholds") {
  const TrainingFolder folder;
  write_hdf5(folder.path() / "a.h5");
  std::ofstream(folder.path() / "job.yaml")
      << "kind: classification\ndata:\n  train: {source: hdf5, file: a.h5, data: features, labels: "
         "tags, multi_label: true, classes: [a, b, c]}\n  resident: 100B\nmodel: {name: mlp, "
         "width: "
         "0.25}\nloss: [bce]\npredict: {threshold: fitted}\nimbalance: {weights: inverse}\n";
  const fs::path run = trained(folder, {"training.epochs=20"});
  const nlohmann::json figures = judged(folder, run, "a.h5");
  CHECK_MESSAGE(figures["members"][0]["figures"]["exact_match"].get<double>() == 1.0,
                figures.dump());
  CHECK(contains(predicted(folder, run, "a.h5"), "p_a,p_b,p_c"));
}

TEST_CASE("a threshold that is given decides everywhere, and files of a folder are its parts") {
  const TrainingFolder folder;
  for (const char* part : {"train", "test"}) {
    const std::string name(part);
    write_array<float>(folder.path() / "d" / ("x_" + name + ".npy"), "24, 6", array_rows(24, 6, 2));
    std::vector<std::uint8_t> flags;
    for (int i = 0; i < 24; ++i)
      flags.insert(flags.end(), {std::uint8_t(i % 2 == 0), std::uint8_t(i % 2 == 1 || i == 4)});
    write_array<std::uint8_t>(folder.path() / "d" / ("y_" + name + ".npy"), "24, 2", flags);
  }
  propose(folder, "d");
  const std::string job = content_of(folder.path() / "job.yaml");
  CHECK(contains(job, "file: d/x_train.npy"));
  CHECK(contains(job, "file: d/x_test.npy"));
  const fs::path run = trained(
      folder, {"training.epochs=2", "predict.threshold={at: 0.999999}", "model.width=0.25"});
  CHECK(contains(content_of(run / "results.csv"), "exact_match"));
  const std::string csv = predicted(folder, run, "d/x_test.npy");
  CHECK(newlines_of(csv) == 25);
  CHECK_FALSE(contains(csv, ",class"));
  const auto evaluated = [&](const std::string& split) {
    return folder.run({"evaluate", run.string(), "--data", "d", "--split", split});
  };
  CHECK(evaluated("test").status == 0);
  CHECK(contains(evaluated("validation").err, "one of the parts of the data, train, test"));
  CHECK(contains(evaluated("all").err, "the data lie in parts, train, test"));
  CHECK(contains(
      folder.run({"evaluate", run.string(), "--data", "d/x_test.npy", "--split", "test"}).err,
      "must have parts"));
}

TEST_CASE("a table of .npy files is trained at once, on folds, with Mixup") {
  const TrainingFolder folder;
  write_array<double>(folder.path() / "d/x.npy", "48, 6", [] {
    const std::vector<float> rows = array_rows(48, 6, 3);
    return std::vector<double>(rows.begin(), rows.end());
  }());
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 48; ++i)
    labels.push_back(i % 3);
  write_array<std::int64_t>(folder.path() / "d/y.npy", "48,", labels);
  folder.done({"train", "classification", "--data", "d", "--set", "data.split={folds: 2}", "--set",
               "training.epochs=10", "--set", "training.batch=8", "--set", "device=cpu", "--set",
               "model.width=0.25", "--set", "threads.torch=1"});
  const fs::path run = folder.only_run();
  const nlohmann::json figures = judged(folder, run, "d/x.npy");
  CHECK(figures["members"].size() == 2);
  CHECK(figures["split"] == "all");
  // All but the test's six; of two folds each is learnt from by one.
  CHECK(figures["seen"] ==
        nlohmann::json{
            {"records", 48}, {"learnt_from", 42}, {"by_path_and_size", 0}, {"chose_weights", 0}});
  fs::rename(folder.path() / "d", folder.path() / "moved");
  CHECK(judged(folder, run, "moved/x.npy")["seen"]["learnt_from"] == 42);
  CHECK(contains(folder.run({"evaluate", run.string()}).err, "x.npy"));
  fs::rename(folder.path() / "moved", folder.path() / "d");
  folder.done({"evaluate", run.string(), "--output", "own.json"});
  const auto own = nlohmann::json::parse(content_of(folder.path() / "own.json"));
  CHECK(own["data"].is_null());
  CHECK(own["split"] == "test");
  CHECK(own["samples"] == 6);
  CHECK(own["seen"]["learnt_from"] == 0);
  CHECK(contains(folder.run({"evaluate", run.string(), "--split", "train"}).err, "--data"));
  CHECK(contains(predicted(folder, run, "d/x.npy"), "p_class0,p_class1,p_class2"));

  write_array<float>(folder.path() / "m/x.npy", "48, 6", array_rows(48, 6, 3));
  std::ofstream(folder.path() / "mixed.yaml")
      << "kind: classification\ndata:\n  train: {source: npy, file: m/x.npy, labels: d/y.npy}\n"
         "augment: [{mixup: 0.2}]\nmodel: {name: mlp, width: 0.25}\nruns: mixed\n"
         "imbalance: {sampler: balanced}\n";
  folder.done({"train", "mixed.yaml", "--set", "training.epochs=20", "--set", "training.batch=8",
               "--set", "device=cpu"});
  const nlohmann::json mixed = judged(folder, folder.only_run("mixed"), "d");
  CHECK_MESSAGE(mixed["members"][0]["figures"]["accuracy"].get<double>() == 1.0, mixed.dump());
}

TEST_CASE("a list of .npy files with patients is trained and says its groups") {
  const TrainingFolder folder;
  headrace::test::write_spectrograms(folder.path() / "mel", 24, 8, 10);
  std::string list = "path,label,patient\n";
  for (int i = 0; i < 24; ++i)
    list += std::string("mel/") + (i % 2 == 0 ? "left/" : "right/") + std::to_string(i) + ".npy," +
            (i % 2 == 0 ? "l" : "r") + ",p" + std::to_string(i / 2) + "\n";
  std::ofstream(folder.path() / "list.csv") << list;
  std::ofstream(folder.path() / "job.yaml")
      << "kind: classification\ndata:\n  train: {source: npy, file: list.csv}\n"
         "  split: {group: patient, validation: 0.2, test: 0.2}\n"
         "array: {frames: 8, normalise: {mean: [5], std: [5]}, fill: 0}\nmodel: {width: 0.25}\n";
  const fs::path run = trained(folder, {"training.epochs=2"});
  CHECK(newlines_of(predicted(folder, run, "list.csv")) == 25);
  const Finished proposed = folder.done({"new", "classification", "--data", "list.csv"});
  CHECK(contains(proposed.out, "file: list.csv"));
}

TEST_CASE("arrays that cannot be trained on are refused before the first step, with the way out") {
  const TrainingFolder folder;
  const fs::path& root = folder.path();
  write_hdf5(root / "a.h5");
  headrace::test::write_spectrograms(root / "mel", 12, 8, 10);
  write_array<float>(root / "odd/left/1.npy", "8, 10", std::vector<float>(80));
  write_array<float>(root / "odd/right/2.npy", "9, 10", std::vector<float>(90));
  write_array<std::uint16_t>(root / "u16.npy", "12, 3", std::vector<std::uint16_t>(36));
  write_array<float>(root / "nan.npy", "12, 3", [] {
    std::vector<float> values(36, 1.0F);
    for (std::size_t i = 6; i < values.size(); i += 3)
      values[i] = std::nanf("");
    return values;
  }());
  write_array<float>(root / "x.npy", "12, 3", array_rows(12, 3, 2));
  const auto labels = [&](const char* file, const std::string& shape, std::vector<float> values) {
    write_array<float>(root / file, shape, values);
  };
  labels("y.npy", "12,", {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  labels("long.npy", "13,", std::vector<float>(13));
  labels("nan_y.npy", "12,", {0, 1, 0, 1, std::nanf(""), 1, 0, 1, 0, 1, 0, 1});
  labels("two.npy", "12, 2", [] {
    std::vector<float> flags;
    for (int i = 0; i < 12; ++i)
      flags.insert(flags.end(), {i == 7 || i % 2 == 0 ? 1.0F : 0.0F, i % 2 == 1 ? 1.0F : 0.0F});
    return flags;
  }());
  std::ofstream(root / "list.csv") << "path,label\nmel/left/0.npy,a\nmel/right/1.npy,b\n";
  std::ofstream(root / "table.yaml")
      << "kind: classification\ndata: {train: {source: npy, file: x.npy, labels: y.npy}}\n"
         "model: {name: mlp}\ntraining: {batch: 4}\n";
  std::ofstream(root / "hdf5.yaml")
      << "kind: classification\ndata: {train: {source: hdf5, file: a.h5, data: features, labels: "
         "labels}}\nmodel: {name: mlp}\ntraining: {batch: 4}\n";
  std::ofstream(root / "mel.yaml")
      << "kind: classification\ndata: {train: {source: npy, folder: mel}}\n"
         "array: {frames: 8}\ntraining: {batch: 4}\n";
  struct Wrong {
    const char* job;
    std::vector<std::string> settings;
    const char* said;
  };
  const std::vector<Wrong> all{
      {"table", {"data.train.file=u16.npy"}, "u16.npy: records must be uint8, int8 to int64"},
      {"table", {"data.train.file=nan.npy"}, "]: must hold finite values"},
      {"table", {"data.train.file=gone.npy"}, "nothing is called gone.npy"},
      {"table", {"data.train.labels=long.npy"}, "must have a row for each of 13 labels, got 12"},
      {"table", {"data.train.labels=nan_y.npy"}, "nan_y.npy: row 4 must hold whole numbers"},
      {"table", {"data.train.labels=two.npy"}, "two.npy: row 7 must hold one 1, got 2"},
      {"table", {"data.train.labels=\"\""}, "data.train.labels must name the .npy file with"},
      {"table", {"data.train.classes=[only]"}, "y.npy: row 1 must hold a label of the 1 classes"},
      {"table", {"data.train.classes=[a, b, c]"}, "\"c\" has none"},
      {"table", {"data.train.multi_label=true"}, "of multi_label must be flags"},
      {"table", {"image.size=32"}, "\"image\" is not used unless data.train.source is images"},
      {"table", {"array.frames=4"}, "array.frames is of spectrograms, but records"},
      {"table", {"array.normalise={mean: [1, 2], std: [1, 1]}"}, "or 3 as the records have"},
      {"table", {"model.in_channels=5"}, "model.in_channels must be 3, the length of the records'"},
      {"table", {"model.name=resnet18"}, "but the records are vectors; take one of mlp"},
      {"table", {"augment=[{flip: 0.5}]"}, "works on pictures, these records are arrays"},
      {"table", {"augment=[spec_augment]"}, "needs a spectrogram"},
      {"table", {"predict.tta=[flip]"}, "flips are of pictures, but data.train has arrays"},
      {"table", {"data.split.group=patient"}, "name groups by data.train.groups"},
      {"table", {"data.cache.memory=1GiB"}, "\"data.cache\" is not used unless data.train.source"},
      {"table", {"data.train.folder=mel"}, "got both"},
      {"table", {"data.test={source: images, folder: p}"}, "data.test.source must be npy or hdf5"},
      {"table",
       {"data.test={source: npy, file: nan_y.npy, labels: y.npy}"},
       "data.test: must have records as data.train"},
      {"table", {"loss=[bce]"}, "be cross_entropy, since every record has one class"},
      {"hdf5", {"data.train.data=featurs"}, "did you mean \"/features\"?"},
      {"hdf5", {"data.train.labels=lables"}, "data.train.labels must name a dataset of a.h5"},
      {"hdf5", {"data.train.labels=tags"}, "a.h5:/tags: row 0 must hold one 1, got 2"},
      {"hdf5", {"data.train.data=\"\""}, "it has /features, /labels, /numbers"},
      {"hdf5", {"data.train.file=x.npy"}, "x.npy"},
      {"hdf5", {"data.train.groups=speakers"}, "did you mean \"/speaker\"?"},
      {"hdf5", {"data.train.data=numbers"}, "a record must be [values], [bins, frames]"},
      {"hdf5", {"data.train.lables=tags"}, "did you mean \"data.train.labels\"?"},
      {"table", {"training.batch=1"}, "training.batch must be at least 2 for vectors"},
      {"table", {"data.test={source: npy, labels: y.npy}"}, "data.test must name its records"},
      {"table",
       {"data.split.validation=0", "predict.threshold=fitted", "data.train.classes=[a, b]"},
       "fitted is chosen on records of a validation"},
      {"hdf5",
       {"data.test={source: hdf5, file: a.h5, data: /features, labels: labels}"},
       "data.test: must be other records than data.train"},
      {"mel", {"data.train.groups=y.npy"}, "are of one .npy file with all features"},
      {"mel",
       {"array.frames=null"},
       "left/0.npy has 10 along its last axis, the longest record has 12"},
      {"mel", {"data.train.folder=odd"}, "right/2.npy: must be as the first, left/1.npy"},
      {"mel",
       {"model.in_channels=3"},
       "model.in_channels must be 1, the channels of the data, got 3"},
      {"mel",
       {"model.name=mlp"},
       "\"mlp\" takes vectors, but the records are pictures or spectrograms"},
      {"mel", {"model.name=efficient_glaucoma_cnn"}, "model.name: sides must be a multiple of 1"},
  };
  for (const Wrong& wrong : all) {
    CAPTURE(wrong.settings.front());
    std::vector<std::string> settings{"device=cpu"};
    settings.insert(settings.end(), wrong.settings.begin(), wrong.settings.end());
    check_unstarted(folder.run(TrainingFolder::train(settings, std::string(wrong.job) + ".yaml")),
                    {wrong.said});
  }
  std::ofstream(root / "list.yaml")
      << "kind: classification\ndata: {train: {source: manifest, file: list.csv}}\n";
  CHECK(contains(folder.run({"train", "list.yaml"}).err,
                 "data.train.source must be npy for a list of .npy files"));
  std::ofstream(root / "pictures.yaml")
      << "kind: classification\ndata: {train: {source: images, folder: p}}\narray: {frames: 3}\n";
  CHECK(contains(folder.run({"train", "pictures.yaml"}).err,
                 "\"array\" is not used unless data.train.source is npy or hdf5"));
}
