// What a run says to TensorBoard, read by TensorBoard's own reader.
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/view/metrics_log.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::skip;
using headrace::test::StartedProgram;
using headrace::test::TemporaryFolder;
using headrace::test::TrainingFolder;
using nlohmann::json;

namespace fs = std::filesystem;

constexpr const char* no_tensorboard =
    "needs Python with tensorboard and pillow (scripts/setup; HEADRACE_TENSORBOARD_PYTHON)";

bool reads(const std::string& program) {
  const std::string probe =
      program + " -c 'import PIL, tensorboard.backend.event_processing.event_accumulator'";
  return std::system((probe + " >/dev/null 2>&1").c_str()) == 0;
}

// HEADRACE_TENSORBOARD_PYTHON, else the one that scripts/setup makes, else the one on the path.
const std::string& tensorboard_python() {
  static const std::string found = [] {
    const char* named = std::getenv("HEADRACE_TENSORBOARD_PYTHON");
    const std::string own = headrace::test::source_folder() + "/.venv/bin/python";
    for (const std::string& program :
         {named != nullptr ? std::string(named) : own, std::string("python3")})
      if (reads(program)) return program;
    return std::string();
  }();
  return found;
}

// A curve: each step once, in order.
using LoggedCurve = std::map<std::int64_t, double>;

// What TensorBoard reads of a run folder.
class Board {
 public:
  explicit Board(const fs::path& run) {
    const std::string command = tensorboard_python() + " " + headrace::test::source_folder() +
                                "/tests/apps/view/tensorboard_figures.py " + (run / "tb").string() +
                                " " + folder_.path().string() + " 2>" +
                                (folder_.path() / "err").string();
    REQUIRE_MESSAGE(std::system(command.c_str()) == 0, content_of(folder_.path() / "err"));
    all_ = json::parse(content_of(folder_.path() / "figures.json"));
  }

  std::set<std::string> members() const {
    std::set<std::string> names;
    for (const auto& [name, figures] : all_.items())
      names.insert(name);
    return names;
  }

  // All curves of a member; fails the test where one has a step twice or out of order.
  std::map<std::string, LoggedCurve> curves(const std::string& member) const {
    std::map<std::string, LoggedCurve> curves;
    for (const auto& [tag, points] : all_.at(member).at("scalars").items()) {
      std::int64_t last = -1;
      for (const json& point : points) {
        const auto step = point[0].get<std::int64_t>();
        CHECK_MESSAGE(step > last, tag);
        curves[tag][step] = point[1].get<double>();
        last = step;
      }
    }
    return curves;
  }

  json images(const std::string& member, const std::string& tag) const {
    return all_.at(member).at("images").value(tag, json::array());
  }
  std::string file_of(const json& image) const {
    return content_of(folder_.path() / image.at("file").get<std::string>());
  }

 private:
  TemporaryFolder folder_;
  json all_;
};

// The curves that metrics.jsonl and the epochs in it stand for, of a run with one member and stage.
std::map<std::string, LoggedCurve> expected_curves(const fs::path& run) {
  std::map<std::string, LoggedCurve> curves;
  std::istringstream rows(content_of(run / "metrics.jsonl"));
  const std::set<std::string> places{"member", "epoch", "step"};
  for (std::string line; std::getline(rows, line);) {
    const json row = json::parse(line);
    if (row.contains("phase")) continue;  // of no step
    const auto step = row.at("step").get<std::int64_t>();
    const bool of_epoch = row.contains("train_loss");
    for (const auto& [key, value] : row.items()) {
      std::string tag;
      if (!of_epoch && !places.contains(key))
        tag = "train/" + (key == "samples_per_s" ? "samples_per_second" : key);
      else if (of_epoch && key.starts_with("train_") && !key.starts_with("train_loss"))
        tag = "train/" + key.substr(6);
      else if (key.starts_with("val_"))
        tag = "validation/" + key.substr(4);
      if (!tag.empty() && value.is_number()) curves[tag][step] = value.get<double>();
    }
  }
  return curves;
}

void check_same(const std::map<std::string, LoggedCurve>& found,
                const std::map<std::string, LoggedCurve>& expected) {
  for (const auto& [tag, curve] : expected) {
    CAPTURE(tag);
    REQUIRE(found.contains(tag));
    REQUIRE(found.at(tag).size() == curve.size());
    for (const auto& [step, value] : curve) {
      CAPTURE(step);
      REQUIRE(found.at(tag).contains(step));
      CHECK(static_cast<float>(found.at(tag).at(step)) == static_cast<float>(value));
    }
  }
  for (const auto& [tag, curve] : found)
    CHECK_MESSAGE(expected.contains(tag), tag);
}

std::size_t event_count(const std::map<std::string, LoggedCurve>& curves) {
  std::size_t count = 0;
  for (const auto& [tag, curve] : curves)
    count += curve.size();
  return count;
}

std::size_t row_count(const fs::path& runs) {
  if (!fs::exists(runs) || fs::is_empty(runs)) return 0;
  const std::string rows = content_of(fs::directory_iterator(runs)->path() / "metrics.jsonl");
  return static_cast<std::size_t>(std::count(rows.begin(), rows.end(), '\n'));
}

// Two epochs of ten steps each, one member or more.
class Glaucoma : public TrainingFolder {
 public:
  Glaucoma()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\nlog_every: 1\ndata: {file: data.h5}\n"
            "training: {epochs: 2, batch: 16, evaluation_batch: 20, member: 0}\n"
            "threads: {loader: 1, torch: 1}\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", 200, 40);
  }
};

}  // namespace

TEST_CASE("TensorBoard reads each figure of metrics.jsonl and metrics.csv, and the pictures") {
  if (tensorboard_python().empty()) return skip(no_tensorboard);
  const TrainingFolder folder;
  headrace::test::write_squares(folder.path() / "data/images", folder.path() / "data/masks", 30, 1);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\nlog_every: 1\ndata: {train: {folder: data/images, masks: "
         "data/masks}}\n"
         "mask: {classes: [{name: ground}, {name: square}]}\nloss: [cross_entropy, dice]\n";
  const Finished trained = folder.train_small({"job.yaml"});
  REQUIRE_MESSAGE(trained.status == 0, trained.err);
  const fs::path run = folder.only_run();
  const Board board(run);
  CHECK((board.members() == std::set<std::string>{"run", "test"}));
  const auto curves = board.curves("run");
  check_same(curves, expected_curves(run));
  for (const char* tag : {"train/loss", "train/loss_cross_entropy", "train/loss_dice",
                          "train/gradient_norm", "train/learning_rate", "validation/loss_dice"})
    CHECK_MESSAGE(curves.contains(tag), tag);
  const LoggedCurve& loss = curves.at("train/loss");
  for (const auto& [step, value] : loss)
    CHECK(value == doctest::Approx(curves.at("train/loss_cross_entropy").at(step) +
                                   curves.at("train/loss_dice").at(step))
                       .epsilon(1e-5));
  CHECK(board.curves("test").contains("test/mean_iou"));

  const json confusion = board.images("run", "validation/confusion");
  REQUIRE(confusion.size() == 2);
  CHECK(confusion.back().at("step") == loss.rbegin()->first);
  const json worst = board.images("test", "test/worst_mistakes");
  REQUIRE(worst.size() == 1);
  CHECK(board.file_of(worst.front()) == content_of(run / "worst.png"));
  for (const json& image :
       {confusion.front(), worst.front(), board.images("test", "test/some").at(0)})
    CHECK(image.at("shown") == json::array({image.at("width"), image.at("height")}));
  CHECK(headrace::test::contains(content_of(run / "log.txt"), "loss terms: train cross_entropy "));
}

TEST_CASE("a run that was killed and goes on has each step once, up to a record that was cut off") {
  if (tensorboard_python().empty()) return skip(no_tensorboard);
  const Glaucoma job;
  StartedProgram program(headrace::test::headrace_program(),
                         Glaucoma::train({"delay.transfer=500ms", "memory.measure=false"}),
                         {.folder = job.path()});
  // A step's row comes before its events: with the fifth there are all of the fourth.
  REQUIRE(program.wait_until([&] { return row_count(job.path() / "runs") >= 5; }));
  program.signal(SIGKILL);
  program.wait();
  const fs::path run = job.only_run();
  const fs::path killed = fs::directory_iterator(run / "tb/fold-0")->path();
  const std::size_t written = event_count(Board(run).curves("fold-0"));
  fs::resize_file(killed, fs::file_size(killed) - 5);
  const auto before = Board(run).curves("fold-0");
  CHECK(before.at("train/loss").size() >= 4);
  CHECK(event_count(before) == written - 1);

  const Finished resumed =
      job.run({"train", "--resume", run.string(), "--set", "delay.transfer=0ms"});
  REQUIRE_MESSAGE(resumed.status == 0, resumed.err);
  const Board board(run);
  const auto curves = board.curves("fold-0");
  CHECK(curves.at("train/loss").size() == 20);
  check_same(curves, expected_curves(run));
  const Finished again = job.run({"train", "--resume", run.string()});
  REQUIRE(again.status == 0);
  CHECK((Board(run).curves("test") == board.curves("test")));
}

TEST_CASE("members have folders of their own, and there is none where nobody wants them") {
  const Glaucoma job;
  const Finished folds = job.run(
      Glaucoma::train({"training.member=null", "data.folds=2", "training.epochs=1", "runs=folds"}));
  REQUIRE_MESSAGE(folds.status == 0, folds.err);
  for (const char* member : {"fold-0", "fold-1"})
    CHECK(fs::exists(job.only_run("folds") / "tb" / member));
  const Finished without =
      job.run(Glaucoma::train({"training.epochs=1", "tensorboard=false", "runs=without"}));
  REQUIRE_MESSAGE(without.status == 0, without.err);
  CHECK_FALSE(fs::exists(job.only_run("without") / "tb"));
}

TEST_CASE("steps count on over the stages of a member, also in a process that goes on") {
  if (tensorboard_python().empty()) return skip(no_tensorboard);
  using namespace headrace::app;
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "config.yaml") << "kind: none\n";
  const auto train = [&](const char* stage, std::int64_t steps) {
    RunFolder run = RunFolder::open(folder.path());
    MetricsLog log(run, {.every = 2}, {});
    log.begin_fold({.stage = stage, .folder = "run"});
    for (std::int64_t step = 1; step <= steps; ++step)
      log.on_step({.step = step, .samples = 4, .loss = 0.5, .times = {.wall_s = 0.25}});
    log.end_steps();
    log.on_epoch({.step = steps, .train = {{"loss", 0.5}}, .validation = {{"loss", 0.25}}}, {});
  };
  train("head", 5);
  train("all", 3);
  train("all", 3);
  const auto curves = Board(folder.path()).curves("run");
  CHECK((curves.at("train/loss") == LoggedCurve{{2, .5}, {4, .5}, {5, .5}, {7, .5}, {8, .5}}));
  CHECK((curves.at("validation/loss") == LoggedCurve{{5, .25}, {8, .25}}));
  CHECK(curves.at("train/samples_per_second").at(7) == 16.0);
}

TEST_CASE("steps that a process goes back to have their newest values") {
  if (tensorboard_python().empty()) return skip(no_tensorboard);
  using namespace headrace::app;
  const TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path(), "run");
  MetricsLog log(run, {.every = 1}, {});
  log.begin_fold({});
  for (std::int64_t step = 1; step <= 4; ++step)
    log.on_step({.step = step, .samples = 1, .loss = 0.5});
  for (std::int64_t step = 3; step <= 5; ++step)
    log.on_step({.step = step, .samples = 1, .loss = 2.0});
  const auto curves = Board(run.path()).curves("run");
  CHECK((curves.at("train/loss") == LoggedCurve{{1, .5}, {2, .5}, {3, 2.0}, {4, 2.0}, {5, 2.0}}));
  CHECK_FALSE(curves.contains("train/samples_per_second"));  // the steps took no time
}
