// What can be wrong with one case of a prediction of volumes, and with the place for it.
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/apps/segmentation/ball_volumes.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::DType;
using headrace::VolumeInfo;
using headrace::test::ball_job;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::grid;
using headrace::test::NnUNetRawFiles;
using headrace::test::side;
using headrace::test::StartedProgram;
using headrace::test::TrainingFolder;
using headrace::test::write_balls;

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("a prediction of volumes keeps what is there and gets past what is wrong with one case") {
  const TrainingFolder folder(ball_job);
  const fs::path raw = folder.path() / "raw";
  write_balls(raw);
  folder.done(TrainingFolder::train({"training.epochs=2", "memory.measure=false"}));
  const std::string run = folder.only_run().string();
  const auto predict = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", "--checkpoint", run};
    words.insert(words.end(), more.begin(), more.end());
    return folder.run(words);
  };
  const auto label = [&](const std::string& name) { return raw / "labelsTs" / (name + ".nii.gz"); };

  const std::string truth = content_of(label("case6"));
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--overwrite", "--data"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = predict(words);
    CHECK(finished.status == 2);
    CHECK_MESSAGE(contains(finished.err, "apart from the labels"), finished.err);
    CHECK(content_of(label("case6")) == truth);
  };
  refused({"raw/imagesTs", "--output", "raw/labelsTs"});
  fs::copy(raw / "imagesTs", folder.path() / "images");
  refused({"images", "--labels", "raw/labelsTs", "--output", "raw/labelsTs"});
  // Links to labels elsewhere; and a folder that would be theirs the next time.
  fs::create_directory(folder.path() / "linked");
  fs::create_symlink(label("case6"), folder.path() / "linked/case6.nii.gz");
  refused({"images", "--labels", "linked", "--output", "raw/labelsTs"});
  refused({"images", "--output", "labels"});
  CHECK_FALSE(fs::exists(folder.path() / "labels"));

  // A value that the run does not know, and an image without anything.
  VolumeInfo labels = grid;
  labels.dtype = DType::uint8;
  NnUNetRawFiles::write<std::uint8_t>(label("case6"), labels,
                                      [](auto z, auto, auto) { return z == side - 1 ? 255 : 0; });
  for (const char* name : {"imagesTs/case8_0000", "labelsTs/case8"})
    NnUNetRawFiles::write<std::int16_t>(raw / (std::string(name) + ".nii.gz"), grid,
                                        [](auto, auto, auto) { return 0; });
  fs::create_directories(folder.path() / "out/.prepared");
  const Finished wrong = predict({"--data", "raw", "--output", "out", "--overwrite"});
  CHECK_MESSAGE(wrong.status == 3, wrong.err);
  CHECK(contains(wrong.err, label("case6").filename().string()));
  CHECK(contains(wrong.err, "255"));
  CHECK(contains(wrong.err, "case8"));
  for (const char* name : {"case6", "case7", "case8"})
    CHECK(headrace::open_volume(folder.path() / "out" / (std::string(name) + ".nii.gz"))
              ->info()
              .shape == grid.shape);
  const std::string dice = content_of(folder.path() / "out/dice.csv");
  CHECK(contains(dice, "case7,"));
  CHECK(contains(dice, "case8,"));
  CHECK_FALSE(contains(dice, "case6,"));
  CHECK(fs::exists(folder.path() / "out/.prepared"));  // somebody's own

  labels.shape[3] = side - 1;
  NnUNetRawFiles::write<std::uint8_t>(label("case7"), labels, [](auto, auto, auto) { return 0; });
  const Finished smaller = predict({"--data", "raw", "--output", "none"});
  CHECK(smaller.status == 3);
  CHECK_MESSAGE(contains(smaller.err, "labelsTs/case7.nii.gz: "), smaller.err);
  CHECK_FALSE(fs::exists(folder.path() / "none"));
}

TEST_CASE("a stopped prediction of volumes goes on with the same command") {
  const TrainingFolder folder(ball_job);
  write_balls(folder.path() / "raw");
  folder.done(TrainingFolder::train({"training.epochs=2", "memory.measure=false"}));
  for (int copy = 0; copy < 8; ++copy)
    fs::copy_file(
        folder.path() / "raw/imagesTs/case7_0000.nii.gz",
        folder.path() / "raw/imagesTs" / ("copy" + std::to_string(copy) + "_0000.nii.gz"));
  const std::vector<std::string> words{
      "predict", "--checkpoint", folder.only_run().string(), "--data", "raw", "--output", "out"};
  const fs::path out = folder.path() / "out";
  const auto stopped_once = [&](const fs::path& file, int signal, int status) {
    StartedProgram program(headrace::test::headrace_program(), words, {.folder = folder.path()});
    REQUIRE(program.wait_until([&] { return fs::exists(file); }));
    program.signal(signal);
    CHECK(program.wait() == status);
    CHECK_MESSAGE(contains(program.err(), "the same command goes on"), program.err());
  };
  stopped_once(out / ".headrace-prepared/case6.json", SIGTERM, 143);
  CHECK(fs::exists(out / ".headrace-prepared/case6.json"));
  CHECK_FALSE(fs::exists(out / "copy7.nii.gz"));
  stopped_once(out / "case6.nii.gz", SIGINT, 130);
  CHECK(fs::exists(out / ".headrace-prepared/copy7.json"));
  CHECK_FALSE(fs::exists(out / "copy7.nii.gz"));
  // What the stopped one has not written may be somebody's.
  std::ofstream(out / "mine.nii.gz") << "drawn";
  const Finished refused = folder.run(words);
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "must be empty"));
  fs::remove(out / "mine.nii.gz");
  folder.done(words);
  CHECK_FALSE(fs::exists(out / ".headrace-prepared"));
  CHECK(fs::exists(out / "copy7.nii.gz"));
  CHECK(contains(content_of(out / "dice.csv"), "case7,"));
}
