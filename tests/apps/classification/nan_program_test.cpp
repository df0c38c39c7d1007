// A network that gives NaN, and records that are not finite: neither ends as if all were well.
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::array_rows;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::TrainingFolder;
using headrace::test::write_array;

namespace fs = std::filesystem;

constexpr int nan_records = 24;
constexpr float huge = 3e38F;  // finite, but not what a network makes of it

// Each part lies in a folder: x.npy, and in BAD_PART one whose record 5 holds `bad`.
struct Parts : TrainingFolder {
  explicit Parts(float bad)
      : TrainingFolder(
            "kind: classification\ndata:\n"
            "  train: {source: npy, file: train/x.npy, labels: train/y.npy}\n"
            "  validation: {source: npy, file: validation/x.npy, labels: validation/y.npy}\n"
            "  test: {source: npy, file: test/x.npy, labels: test/y.npy}\n"
            "array: {normalise: none}\nmodel: {name: mlp}\ndevice: cpu\n"
            "threads: {torch: 1, loader: 1}\nmemory: {measure: false}\n"
            "training: {batch: 4, epochs: 2}\n") {
    std::vector<std::int64_t> labels;
    for (int i = 0; i < nan_records; ++i)
      labels.push_back(i % 2);
    for (const std::string part : {"train", "validation", "test"}) {
      std::vector<float> rows = array_rows(nan_records, 3, 2);
      for (const std::string& folder : {part, "bad_" + part}) {
        write_array<float>(path() / folder / "x.npy", "24, 3", rows);
        write_array<std::int64_t>(path() / folder / "y.npy", "24,", labels);
        std::fill_n(rows.begin() + 15, 3, bad);
      }
    }
  }
  Finished with_bad(const std::string& part, const std::string& runs,
                    std::vector<std::string> settings = {}) const {
    settings.insert(settings.end(),
                    {"data." + part + ".file=bad_" + part + "/x.npy",
                     "data." + part + ".labels=bad_" + part + "/y.npy", "runs=" + runs});
    return run(train(settings));
  }
};

void check_end(const Finished& finished, int status, const std::vector<std::string>& said) {
  CHECK_MESSAGE(finished.status == status, finished.err);
  for (const std::string& words : said)
    CHECK_MESSAGE(contains(finished.err, words), words << " in " << finished.err);
}

std::string line_of(const std::string& text, const std::string& begin) {
  const auto first = text.find('\n' + begin);
  return first == std::string::npos
             ? ""
             : text.substr(first + 1, text.find('\n', first + 1) - first - 1);
}

}  // namespace

TEST_CASE(
    "a test that is NaN ends with 5 and names its first record, and so do those who look on") {
  const Parts parts(huge);
  const std::string nan = "NaN for 1 of 24 records, the first ";
  check_end(parts.with_bad("test", "runs"), 5,
            {"the network gives " + nan, "bad_test/x.npy[5]", "exit code 5 (numeric)"});
  const fs::path run = parts.only_run();
  const fs::path member = run / "checkpoints/run";
  const std::string best = (member / "best.safetensors").string();
  CHECK(fs::exists(best));
  const auto result = nlohmann::json::parse(content_of(run / "result.json"))["members"][0];
  CHECK(contains(result["refused"].get<std::string>(), nan));
  CHECK(result["test"]["accuracy"].is_null());
  CHECK(result["validation"]["accuracy"].is_number());
  CHECK(contains(content_of(run / "report.html"), "run is refused, test: the network gives"));
  CHECK_FALSE(contains(content_of(run / "report.html"), "macro_f1</td>"));

  const auto predicted = [&](const std::string& checkpoint, const std::string& output) {
    return parts.run(
        {"predict", "--checkpoint", checkpoint, "--data", "bad_test/x.npy", "--output", output});
  };
  check_end(predicted(best, "p.csv"), 5, {nan + "bad_test/x.npy[5]"});
  const std::string csv = content_of(parts.path() / "p.csv");
  CHECK(line_of(csv, "5,") == "5,bad_test/x.npy[5],nan,nan,");
  CHECK(line_of(csv, "6,").ends_with(",class0"));
  check_end(predicted(best, "p.jsonl"), 5, {nan});
  CHECK(contains(content_of(parts.path() / "p.jsonl"), "\"predicted\":null"));
  check_end(predicted(run.string(), "q.csv"), 5, {member.string() + ": is refused, test"});

  check_end(parts.run({"evaluate", best, "--data", "bad_test", "--output", "e.json"}), 5, {nan});
  const auto judged = nlohmann::json::parse(content_of(parts.path() / "e.json"))["members"][0];
  CHECK(judged["no_numbers"]["records"] == 1);
  CHECK(judged["figures"]["accuracy"].is_null());
  CHECK(parts.run({"evaluate", best, "--data", "test"}).status == 0);
  // Resumed it comes to the same.
  check_end(parts.run({"train", "--resume", run.string()}), 5, {nan});
}

TEST_CASE("a run whose every validation is NaN ends with 5 and has no best weights") {
  const Parts parts(huge);
  const Finished finished = parts.with_bad("validation", "runs");
  check_end(
      finished, 5,
      {"validation of epoch 1: the network gives NaN for 1 of 24 records, the first ",
       "bad_validation/x.npy[5]", "the run is refused, no evaluation had a number for macro_f1"});
  const fs::path run = parts.only_run();
  CHECK_FALSE(fs::exists(run / "checkpoints/run/best.safetensors"));
  CHECK(contains(content_of(run / "report.html"), "run is refused, no evaluation had a number"));
  check_end(parts.run({"predict", "--checkpoint", run.string(), "--data", "test/x.npy", "--output",
                       "p.csv"}),
            5, {"is refused, no evaluation had a number"});
  CHECK_FALSE(fs::exists(parts.path() / "p.csv"));
  check_end(parts.run({"train", "job.yaml", "--smoke", "2", "--set",
                       "data.validation.file=bad_validation/x.npy", "--set", "runs=tried"}),
            5, {"is refused, no evaluation had a number"});
}

TEST_CASE("of folds the one that gives no numbers is refused by its name, and nothing is voted") {
  const Parts parts(huge);
  const Finished finished =
      parts.with_bad("train", "runs", {"data.validation=null", "data.split={folds: 2}"});
  CHECK_MESSAGE(finished.status == 5, finished.err);
  CHECK(contains(finished.out, ": refused, no evaluation had a number for macro_f1"));
  CHECK_FALSE(contains(finished.out, "all together"));
  const auto result = nlohmann::json::parse(content_of(parts.only_run() / "result.json"));
  CHECK(result["members"].size() == 2);
  CHECK(result["members"][0].contains("refused") != result["members"][1].contains("refused"));
  CHECK_FALSE(result.contains("vote"));
}

TEST_CASE("a record that is not finite is refused by its name in every part") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Parts parts(bad);
    for (const std::string part : {"train", "validation", "test"})
      check_end(parts.with_bad(part, "runs_" + part), 3,
                {"bad_" + part + "/x.npy[5]", "must hold finite numbers, got NaN or infinity",
                 "set data.bad_samples.rule: replace"});
    const Finished trained = parts.run(Parts::train({"runs=good"}));
    REQUIRE_MESSAGE(trained.status == 0, trained.err);
    const std::string run = parts.only_run("good").string();
    check_end(parts.run({"predict", "--checkpoint", run, "--data", "bad_test/x.npy", "--output",
                         "p.csv"}),
              3,
              {"bad_test/x.npy[5]", "must hold finite numbers", "predict: 23 samples",
               "1 of 24 records could not be read, the first bad_test/x.npy[5]"});
    std::istringstream rows(content_of(parts.path() / "p.csv"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(rows, line);)
      lines.push_back(line);
    REQUIRE(lines.size() == 25);
    CHECK(lines[6].ends_with("x.npy[5],,,"));
    CHECK_FALSE(lines[7].ends_with(",,"));
    check_end(parts.run({"evaluate", run, "--data", "bad_test"}), 0,
              {"bad_test/x.npy[5]", "must hold finite numbers", "evaluate: 23 of 24 samples"});
  }
}

TEST_CASE("records that a rule leaves out are listed, said and counted in no figure") {
  const Parts parts(std::numeric_limits<float>::quiet_NaN());
  const auto listed = [&](const std::string& runs) {
    std::vector<nlohmann::json> lines;
    std::ifstream file(parts.only_run(runs) / "bad_samples.jsonl");
    for (std::string line; std::getline(file, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const std::string rule = "data.bad_samples=replace";
  // Of 24 to train on one is replaced in each epoch; it counts against the budget.
  check_end(parts.with_bad("train", "replaced", {rule}), 0, {});
  const auto replaced = listed("replaced");
  REQUIRE(replaced.size() >= 2);
  CHECK(replaced[0]["loader"] == "train");
  CHECK(replaced[0]["file"] == "npy table bad_train/x.npy[5]");
  CHECK(replaced[0]["rule"] == "replace");
  CHECK(contains(content_of(parts.only_run("replaced") / "report.html"), "bad_samples.jsonl"));
  check_end(parts.with_bad("train", "budget",
                           {"data.bad_samples.rule=replace", "data.bad_samples.most_share=0.01"}),
            3, {"raise data.bad_samples.most_share"});
  check_end(parts.with_bad("train", "shrunk", {"data.bad_samples=shrink"}), 0, {});
  // Statistics leave it out, too.
  check_end(parts.with_bad("train", "normalised", {rule, "array.normalise=dataset"}), 0,
            {"mean and deviation"});

  // A bad one to judge that was not looked for never ends the run.
  const std::string words =
      "1 of 24 records could not be read, the first npy table bad_test/x.npy[5]; "
      "figures are of the other 23";
  for (const std::string& setting : {std::string("data.check=none"), rule}) {
    const std::string runs = setting == rule ? "ruled" : "unchecked";
    const Finished finished = parts.with_bad("test", runs, {setting});
    check_end(finished, 0, {"test: " + words});
    CHECK(contains(finished.out, "test: " + words));
    REQUIRE(listed(runs).size() == 1);
    CHECK(listed(runs)[0]["loader"] == "test");
    const auto result = nlohmann::json::parse(content_of(parts.only_run(runs) / "result.json"));
    CHECK(result["members"][0]["unread"] == words);
    CHECK(result["members"][0]["test"]["accuracy"].is_number());
  }
  check_end(parts.with_bad("validation", "judged", {rule}), 0,
            {"validation of epoch 1: 1 of 24 records could not be read"});

  // What is bad by now ends no run that has begun, and no look at its own test.
  check_end(parts.run({"evaluate", parts.only_run("normalised").string()}), 0,
            {"evaluate: 24 samples"});
  const std::string began = parts.only_run("unchecked").string();
  check_end(parts.run({"train", "--resume", began, "--set", "data.check=quick"}), 0,
            {"1 of the 48 records of validation and test"});
}
