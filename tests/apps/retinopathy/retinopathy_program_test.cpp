// Pairs of grades as a user trains them: flat in memory, in turn, stopped and resumed, and what
// they say together.
#include <headrace/tests/apps/retinopathy/grades.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
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

const std::string job = R"(kind: retinopathy
device: cpu
seed: 5
tensorboard: false
data:
  train: {source: images, folder: grades/train}
  validation: {source: images, folder: grades/val}
  test: {source: images, folder: grades/test}
  listings: ''
  epoch_size: 48
image: {size: 32, prepare: []}
model: {name: resnet18, width: 0.25, hidden: [16], dropout: [0.2, 0.1]}
training: {epochs: 2, batch: 4, evaluation_batch: 8, accumulation: 1, learning_rate: 0.003}
threads: {loader: 2, torch: 1}
)";

class Grades : public TrainingFolder {
 public:
  explicit Grades(int grades) : TrainingFolder(job) {
    headrace::test::write_grades(path() / "grades", grades, 14);
  }
};

// The most that tensors held in any phase of a first epoch, by the member's number: in later ones
// the copy for the checkpoint before may still be on its way to the disk.
std::map<std::string, double> peaks_of(const fs::path& run) {
  std::map<std::string, double> peaks;
  std::istringstream lines(content_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    if (row.value("epoch", -1) != 0) continue;
    for (const char* key : {"training_tensors_peak_bytes", "evaluation_tensors_peak_bytes"})
      if (row.contains(key)) {
        double& peak = peaks[row.at("member").dump()];
        peak = std::max(peak, row.at(key).get<double>());
      }
  }
  return peaks;
}

json result_of(const fs::path& run) {
  return json::parse(content_of(run / "result.json"));
}

Words predict(const fs::path& run, const std::string& output) {
  return {"predict", "--checkpoint", run.string(), "--data", "grades/test", "--output", output};
}

}  // namespace

TEST_CASE("ten pairs are trained in flat memory and vote by every scheme") {
  const Grades grades(5);
  const Finished trained = grades.done(Grades::train({}));
  const fs::path run = grades.only_run();
  std::set<std::string> folders;
  for (const auto& member : fs::directory_iterator(run / "checkpoints"))
    folders.insert(member.path().filename().string());
  CHECK(folders.size() == 10);
  CHECK(folders.contains("pair-0-1"));
  CHECK(folders.contains("pair-3-4"));

  const auto peaks = peaks_of(run);
  REQUIRE(peaks.size() == 10);
  for (const auto& [member, peak] : peaks)
    CHECK_MESSAGE(std::abs(peak / peaks.at("0") - 1.0) <= 0.01, member << ": " << peak);

  const json result = result_of(run);
  REQUIRE(result.at("votes").size() == 5);
  std::set<std::string> names;
  for (const json& vote : result.at("votes")) {
    names.insert(vote.at("name").get<std::string>());
    for (const char* figure : {"accuracy", "qwk", "macro_f1"})
      CHECK(vote.at("test").contains(figure));
    int cases = 0;
    for (const json& row : vote.at("confusion").at("counts"))
      for (const json& count : row)
        cases += count.get<int>();
    CHECK(cases == 14 + 12 + 10 + 8 + 6);  // the whole test
  }
  CHECK(names == std::set<std::string>{"confidence", "coupling", "hard", "soft", "weighted"});
  CHECK(result.at("vote").at("test") == result.at("votes").at(0).at("test"));
  CHECK(result.at("vote").at("test").at("accuracy").get<double>() > 0.5);
  for (const std::string& name : names)
    CHECK_MESSAGE(contains(trained.out, name), trained.out);
}

TEST_CASE("predictions of a folder are the vote with its reasons, and of one pair refused") {
  const Grades grades(3);
  grades.done(Grades::train({"training.epochs=1"}));
  const fs::path run = grades.only_run();
  grades.done(predict(run, "p.csv"));
  const std::string csv = content_of(grades.path() / "p.csv");
  CHECK(csv.starts_with(
      "index,file,p_0,p_1,p_2,predicted,p_1_over_0,p_2_over_0,p_2_over_1,margin\n"));
  CHECK(std::ranges::count(csv, '\n') == 1 + 14 + 12 + 10);
  grades.done(predict(run, "p.jsonl"));
  const std::string lines = content_of(grades.path() / "p.jsonl");
  const json first = json::parse(lines.substr(0, lines.find('\n')));
  CHECK(first.at("reasons").contains("p_1_over_0"));

  const Finished alone =
      grades.run(predict(run / "checkpoints/pair-0-2/best.safetensors", "q.csv"));
  CHECK(alone.status == 2);
  CHECK(contains(alone.err, "pair-0-1, pair-1-2 are missing"));

  const Finished judged = grades.done(
      {"evaluate", "--checkpoint", run.string(), "--data", "grades/test", "--output", "e.json"});
  const json evaluation = json::parse(content_of(grades.path() / "e.json"));
  CHECK(evaluation.at("vote") == result_of(run).at("vote").at("test"));
  CHECK(evaluation.at("votes").size() == 5);
  CHECK(contains(judged.err, "36 samples, 3 of 3 votes"));
}

TEST_CASE("a run that is killed inside its fourth pair goes on there and comes to the same votes") {
  const Grades grades(4);
  grades.done(Grades::train({"runs=whole", "image.prepare=[clahe]"}));
  StartedProgram program(headrace::test::headrace_program(),
                         Grades::train({"runs=killed", "image.prepare=[clahe]",
                                        "delay.transfer=200ms", "memory.measure=false"}),
                         {.folder = grades.path()});
  const auto fourth = [&]() -> fs::path {
    const std::vector<fs::path> runs = grades.runs("killed");
    return runs.empty() ? fs::path() : runs.front() / "checkpoints/pair-1-2";
  };
  REQUIRE(
      program.wait_until([&] { return fs::exists(fourth() / "checkpoint-000001.safetensors"); }));
  program.signal(SIGKILL);
  program.wait();
  const fs::path run = grades.only_run("killed");
  CHECK(fs::exists(run / "checkpoints/pair-0-3/result.json"));
  CHECK_FALSE(fs::exists(fourth() / "result.json"));
  const auto done_before = fs::last_write_time(run / "checkpoints/pair-0-3/best.safetensors");

  const Finished resumed =
      grades.done({"train", "--resume", run.string(), "--set", "delay.transfer=0ms"});
  CHECK(fs::last_write_time(run / "checkpoints/pair-0-3/best.safetensors") == done_before);
  const json whole = result_of(grades.only_run("whole"));
  const json again = result_of(run);
  CHECK(again.at("votes") == whole.at("votes"));
  CHECK(again.at("members") == whole.at("members"));
  grades.done(predict(run, "killed.csv"));
  grades.done(predict(grades.only_run("whole"), "whole.csv"));
  CHECK(content_of(grades.path() / "killed.csv") == content_of(grades.path() / "whole.csv"));
}
