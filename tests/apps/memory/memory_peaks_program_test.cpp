// What runs of every kind take, beside what was said before their first step.
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/leak/leak_folder.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::content_of;
using headrace::test::TrainingFolder;
using nlohmann::json;

using Words = std::vector<std::string>;

// The most that a run held in any phase of an epoch.
struct SeenPeaks {
  double tensors = 0.0;
  double process = 0.0;
};

SeenPeaks seen_in(const std::filesystem::path& run) {
  SeenPeaks seen;
  std::istringstream lines(content_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    for (const char* phase : {"training", "evaluation"}) {
      const auto most = [&](double& value, const char* name) {
        const std::string key = std::string(phase) + name;
        if (row.contains(key)) value = std::max(value, row.at(key).get<double>());
      };
      most(seen.tensors, "_tensors_peak_bytes");
      most(seen.process, "_process_bytes");
    }
  }
  return seen;
}

double number(const json& of, const char* name) {
  return of.at(name).get<double>();
}

// By the points of two smaller batches.
double by_line(const json& points, double rows) {
  const json& less = points.at(2);
  const json& more = points.at(1);
  const double slope = (number(more, "training_bytes") - number(less, "training_bytes")) /
                       (number(more, "rows") - number(less, "rows"));
  return number(more, "training_bytes") + slope * (rows - number(more, "rows"));
}

void check_peaks(const TrainingFolder& folder, Words settings) {
  settings.insert(settings.end(),
                  {"device=cpu", "threads.torch=1", "tensorboard=false", "training.epochs=3"});
  const headrace::test::Finished finished = folder.done(TrainingFolder::train(settings));
  const std::filesystem::path run = folder.only_run();
  const json stage = json::parse(content_of(run / "memory.json")).at("stages").at(0);
  const json& points = stage.at("points");
  REQUIRE(points.size() == 3);
  const json& point = points.at(0);
  const double tensors =
      std::max(number(point, "training_bytes"), number(point, "evaluation_bytes"));
  const double copy = number(stage, "checkpoint_bytes");
  const SeenPeaks seen = seen_in(run);
  CAPTURE(tensors);
  CAPTURE(copy);
  CAPTURE(seen.tensors);
  CHECK(seen.tensors <= 1.05 * (tensors + copy));
  CHECK(seen.tensors >= 0.95 * tensors);
  CHECK(by_line(points, number(point, "rows")) ==
        doctest::Approx(number(point, "training_bytes")).epsilon(0.05));
  // "info memory 488 MiB of 10.0 GiB"
  std::istringstream total(finished.err.substr(finished.err.find("info memory ") + 12));
  double bytes = 0.0;
  std::string unit;
  total >> bytes >> unit;
  bytes *= unit == "GiB" ? 1024.0 * 1024.0 * 1024.0 : 1024.0 * 1024.0;
  CAPTURE(bytes);
  CAPTURE(seen.process);
  CHECK(seen.process <= 1.10 * bytes);
}

}  // namespace

TEST_CASE("a glaucoma run takes what was said") {
  const TrainingFolder folder(
      "kind: glaucoma\nseed: 7\ndata: {file: data.h5}\n"
      "training: {batch: 64, evaluation_batch: 64, member: 0}\nthreads: {loader: 1}\n");
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 400, 40);
  check_peaks(folder, {});
}

TEST_CASE("a leak run takes what was said") {
  const headrace::test::LeakFolder folder("training: {batch: 64, evaluation_batch: 64}\n");
  check_peaks(folder, {});
}

TEST_CASE("a classification by ResNet-18 takes what was said") {
  const TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "data", 60);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: classification\ndata: {train: {folder: data}}\nmodel: {name: resnet18}\n"
         "image: {size: 64}\ntraining: {batch: 16, evaluation_batch: 16}\n";
  check_peaks(folder, {"data.listings=\"\""});
}

TEST_CASE("a segmentation by a U-Net takes what was said") {
  const TrainingFolder folder;
  headrace::test::write_squares(folder.path() / "data/images", folder.path() / "data/masks", 40, 1);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\ndata: {train: {folder: data/images, masks: data/masks}}\n"
         "mask: {classes: [{name: ground}, {name: square}]}\n"
         "model: {name: unet, encoder: resnet18}\nimage: {size: 64}\n"
         "training: {batch: 8, evaluation_batch: 8}\n";
  check_peaks(folder, {"data.listings=\"\""});
}
