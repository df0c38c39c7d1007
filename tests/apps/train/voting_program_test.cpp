// Members that each know two of three classes, and are tested on records of their own: what they
// say together, by two ways to decide.
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
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
using headrace::test::run_program;
using nlohmann::json;

namespace fs = std::filesystem;

constexpr std::int64_t records = 90;  // of three classes, and 60 of each pair

class VotingTraining : public headrace::test::TrainingFolder {
 public:
  VotingTraining()
      : TrainingFolder(
            "kind: corners\nseed: 3\ndevice: cpu\ntraining:\n  epochs: 3\n  batch: 16\n"
            "  learning_rate: 0.05\n  evaluation_batch: 7\nthreads:\n  loader: 1\n  torch: 1\n") {}

  Finished run(const std::vector<std::string>& words) const {
    return run_program(headrace::test::voting_program(), words, {.folder = path()});
  }
  Finished trained(const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> words{"train", "job.yaml", "--set", "memory.measure=false"};
    for (const std::string& one : settings)
      words.insert(words.end(), {"--set", one});
    const Finished finished = run(words);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return finished;
  }
  std::string predicted(const std::string& file) const {
    const Finished finished =
        run({"predict", "--checkpoint", only_run().string(), "--data", ".", "--output", file});
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return content_of(path() / file);
  }
};

std::int64_t total(const json& confusion) {
  std::int64_t sum = 0;
  for (const json& row : confusion.at("counts"))
    for (const json& count : row)
      sum += count.get<std::int64_t>();
  return sum;
}

}  // namespace

TEST_CASE("pairs of classes vote about all records, by each way to decide") {
  const VotingTraining job;
  const std::string said = job.trained().out;
  CHECK(contains(said, "\nall together, test  accuracy"));
  CHECK(contains(said, "\nsoft "));
  CHECK(contains(said, "\nhard "));
  const fs::path run = job.only_run();
  const json result = json::parse(content_of(run / "result.json"));
  REQUIRE(result.at("members").size() == 3);
  for (const json& member : result.at("members"))
    CHECK(total(member.at("confusion")) == 60);
  CHECK((result.at("members").at(1).at("confusion").at("classes") == json{"north", "west"}));
  const json& votes = result.at("votes");
  REQUIRE(votes.size() == 2);
  CHECK(votes.at(0).at("name") == "soft");
  CHECK(votes.at(1).at("name") == "hard");
  for (const json& vote : votes) {
    CHECK(total(vote.at("confusion")) == records);
    CHECK((vote.at("confusion").at("classes") == json{"north", "east", "west"}));
    CHECK(vote.at("test").at("accuracy") > 0.7);  // of two classes at most 2 / 3
  }
  CHECK(result.at("vote").at("test") == votes.at(0).at("test"));
  const std::string csv = content_of(run / "results.csv");
  CHECK(contains(csv, "\n\"all together, soft\",accuracy,,"));
  CHECK(contains(csv, "\n\"all together, hard\",accuracy,,"));
  CHECK(content_of(run / "results.png").starts_with("\x89PNG"));

  const Finished judged = job.run(
      {"evaluate", "--checkpoint", run.string(), "--data", ".", "--output", "figures.json"});
  REQUIRE_MESSAGE(judged.status == 0, judged.err);
  CHECK(contains(judged.out, " soft "));
  CHECK(contains(judged.out, " hard "));
  CHECK(contains(judged.err, "90 samples, 3 of 3 votes"));
  const json all = json::parse(content_of(job.path() / "figures.json"));
  CHECK(all.at("samples") == records);
  CHECK(all.at("vote") == result.at("vote").at("test"));
  REQUIRE(all.at("votes").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(all.at("votes").at(i).at("figures") == votes.at(i).at("test"));
    CHECK(all.at("votes").at(i).at("confusion") == votes.at(i).at("confusion"));
  }
  for (std::size_t i = 0; i < 3; ++i)  // which saw all records, of which only their own count
    CHECK(all.at("members").at(i).at("confusion") == result.at("members").at(i).at("confusion"));
}

TEST_CASE("a job of somebody else takes no plateau over a figure that its validation has not") {
  const VotingTraining job;
  const auto tried = [&](const std::string& plateau) {
    return job.run({"train", "job.yaml", "--set", "memory.measure=false", "--set",
                    "training.schedule={plateau: {" + plateau + "}}"});
  };
  const Finished unknown = tried("figure: balanced_acuracy, goal: higher");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.err, "did you mean \"balanced_accuracy\"?"));
  CHECK_FALSE(contains(unknown.out, "1/3"));
  const Finished upwards = tried("figure: balanced_accuracy");
  CHECK(upwards.status == 2);
  CHECK(contains(upwards.err, "balanced_accuracy gets better upwards"));
  CHECK(tried("goal: higher").status == 2);
  job.trained({"training.schedule={plateau: {figure: macro_f1, goal: higher}}"});
}

TEST_CASE("predictions say why, with what the validation of each member has fitted") {
  const VotingTraining job;
  job.trained();
  std::istringstream rows(job.predicted("out.csv"));
  std::string line;
  std::getline(rows, line);
  CHECK(line.ends_with("p_north,p_east,p_west,predicted,margin,trust"));
  std::int64_t count = 0;
  for (; std::getline(rows, line); ++count)
    CHECK_MESSAGE(line.ends_with(",1.500000"), line);  // three times a half
  CHECK(count == records);
  const std::string text = job.predicted("out.jsonl");
  const json first = json::parse(text.substr(0, text.find('\n')));
  CHECK(first.at("reasons").size() == 2);
  CHECK(first.at("reasons").at("trust") == 1.5);
  std::vector<double> shares = {};
  for (const auto& [name, value] : first.at("probabilities").items())
    shares.push_back(value);
  std::sort(shares.rbegin(), shares.rend());
  CHECK(first.at("reasons").at("margin").get<double>() ==
        doctest::Approx(shares[0] - shares[1]).epsilon(1e-5));
}

TEST_CASE("one pair has no vote while others are missing") {
  const VotingTraining job;
  CHECK_FALSE(contains(job.trained({"training.member=1"}).out, "all together"));
  const json result = json::parse(content_of(job.only_run() / "result.json"));
  CHECK(result.at("members").size() == 1);
  CHECK_FALSE(result.contains("vote"));
}
