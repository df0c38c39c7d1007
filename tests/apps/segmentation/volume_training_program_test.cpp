// Volumes in nnU-Net's raw layout, from training to predicted volumes, as a user would.
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/apps/segmentation/ball_volumes.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::DType;
using headrace::test::ball_job;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::grid;
using headrace::test::TrainingFolder;
using headrace::test::write_balls;

namespace fs = std::filesystem;

// The column of a CSV file by its heading.
std::vector<double> column(const fs::path& file, const std::string& heading) {
  std::istringstream lines(content_of(file));
  std::vector<double> values;
  std::string line;
  std::size_t place = 0;
  bool first = true;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i) {
      if (first && cell == heading) place = i;
      if (!first && i == place) values.push_back(std::stod(cell));
    }
    first = false;
  }
  return values;
}

void check_dice(const fs::path& folder, std::size_t cases) {
  const std::vector<double> dice = column(folder / "dice.csv", "ball");
  REQUIRE(dice.size() == cases);
  for (const double value : dice)
    CHECK(value > 0.8);
  CHECK(column(folder / "dice.csv", "mean") == dice);  // there is one class
}

}  // namespace

TEST_CASE("volumes are learnt, judged and predicted on the grid of their files") {
  const TrainingFolder folder(ball_job);
  write_balls(folder.path() / "raw");
  const Finished trained = folder.run({"train", "job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  const fs::path run = folder.only_run();
  CHECK(contains(content_of(run / "results.csv"), "dice_ball"));
  const std::string header = content_of(run / "checkpoints/run/best.safetensors").substr(0, 20000);
  for (const char* note : {"zscore", "\"patch\":\"[24,24,24]\"", "\"channels\":\"1\""})
    CHECK_MESSAGE(contains(header, note), note);

  const Finished judged =
      folder.run({"evaluate", "--checkpoint", run.string(), "--data", "raw", "--output", "e.json"});
  REQUIRE_MESSAGE(judged.status == 0, judged.err);
  CHECK(contains(judged.err, "6 samples"));

  const Finished predicted =
      folder.run({"predict", "--checkpoint", run.string(), "--data", "raw", "--output", "out"});
  REQUIRE_MESSAGE(predicted.status == 0, predicted.err);
  check_dice(folder.path() / "out", 2);
  CHECK(contains(predicted.out, "ball"));
  CHECK(contains(predicted.out, "case7"));
  const auto made = headrace::open_volume(folder.path() / "out/case6.nii.gz");
  CHECK(made->info().shape == grid.shape);
  CHECK(made->info().spacing == grid.spacing);
  CHECK(made->info().affine == grid.affine);
  CHECK(made->info().dtype == DType::uint8);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "out")) {
    CAPTURE(entry.path().string());
    ++files;
  }
  CHECK(files == 3);  // and nothing of what was prepared

  const Finished named =
      folder.run({"predict", "--checkpoint", run.string(), "--data", "raw/imagesTr", "--labels",
                  "raw/labelsTr", "--output", "more"});
  REQUIRE_MESSAGE(named.status == 0, named.err);
  check_dice(folder.path() / "more", 6);
  const Finished again =
      folder.run({"predict", "--checkpoint", run.string(), "--data", "raw", "--output", "out"});
  CHECK(again.status == 2);
  CHECK(contains(again.err, "must be empty"));
  CHECK(contains(again.err, "--overwrite"));
}

TEST_CASE("a run on volumes that was stopped, or had other threads, gives the same weights") {
  using headrace::test::best_weights;
  const TrainingFolder folder(ball_job);
  write_balls(folder.path() / "raw");
  const std::vector<std::string> few{"training.epochs=2", "training.checkpoint_every=2",
                                     "memory.measure=false"};
  const auto train = [&](const std::string& runs, const std::string& more) {
    std::vector<std::string> settings = few;
    settings.insert(settings.end(), {"runs=" + runs, more});
    folder.done(TrainingFolder::train(settings));
    return best_weights(folder.only_run(runs));
  };
  const std::string whole = train("whole", "threads.loader=2");
  CHECK(train("one", "threads.loader=1") == whole);
  CHECK(train("other", "seed=7") != whole);

  std::ofstream(folder.path() / "job.yaml", std::ios::app) << "memory: {measure: false}\n";
  std::string slow = content_of(folder.path() / "job.yaml");
  const std::string epochs = "epochs: 10";
  slow.replace(slow.find(epochs), epochs.size(), "epochs: 2, checkpoint_every: 2");
  std::ofstream(folder.path() / "job.yaml") << slow;
  const auto [cut, said] = folder.stop_in_first_epoch("cut");
  const std::vector<std::string> resume{"train", "--resume", cut.string(), "--set",
                                        "delay.transfer=0ms"};
  const auto rename = [&](const char* from, const char* to) {
    for (const char* ending : {"imagesTr/case%_0000.nii.gz", "labelsTr/case%.nii.gz"}) {
      const auto named = [&](const std::string& number) {
        return folder.path() / "raw" / std::string(ending).replace(13, 1, number);
      };
      fs::rename(named(from), named(to));
    }
  };
  rename("3", "9");  // as many, in another order
  const Finished others = folder.run(resume);
  CHECK(others.status == 6);
  CHECK_MESSAGE(contains(others.err, "data: \"6 cases, names "), others.err);
  rename("9", "3");
  const fs::path image = folder.path() / "raw/imagesTr/case2_0000.nii.gz";
  fs::last_write_time(image, fs::last_write_time(image) + std::chrono::hours(1));
  const Finished rest = folder.run(resume);
  REQUIRE_MESSAGE(rest.status == 0, rest.err);
  CHECK_MESSAGE(contains(rest.err, "1 files of volumes were changed since they were prepared"),
                rest.err);
  CHECK(best_weights(cut) == whole);
}

TEST_CASE("what volumes cannot have is refused before they are prepared") {
  const TrainingFolder folder(ball_job);
  write_balls(folder.path() / "raw");
  const auto refused = [&](const std::vector<std::string>& settings, const char* what) {
    const Finished finished = folder.run(TrainingFolder::train(settings));
    CHECK(finished.status == 2);
    CHECK_MESSAGE(contains(finished.err, what), finished.err);
    CHECK_FALSE(fs::exists(folder.path() / "prepared"));
  };
  refused({"loss=[bce]"}, "the classes of volumes exclude each other");
  refused({"selected_by=loss"}, "selected_by must be a figure of whole volumes");
  refused({"volume.patch=[16, 18, 16]"},
          "volume.patch must be multiples of [4, 4, 4] for the network plain_conv_unet, got [16, "
          "18, 16]; take [16, 20, 16]");
  refused({"model.name=unet"}, "takes pictures, but the data are volumes");
}
