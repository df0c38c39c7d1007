// Faults that are planted in trainings, which no clock measures: the advice names exactly that, and
// a healthy twin's run says nothing of it.
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace headrace;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_program;

constexpr std::int64_t noise_rows = 512;
constexpr std::int64_t noise_values = 4096;

// Features of noise, in chunks of so many rows, with labels.
class NoiseTraining : public headrace::test::TrainingFolder {
 public:
  explicit NoiseTraining(std::int64_t chunk_rows = 0)
      : TrainingFolder(
            "kind: classification\nseed: 3\ndevice: cpu\ndata:\n"
            "  train: {source: hdf5, file: rows.h5, data: x, labels: y, classes: [a, b]}\n"
            "  resident: 4MiB\nmodel: {name: mlp, width: 0.125}\n"
            "training:\n  epochs: 2\n  batch: 32\n"
            "threads:\n  loader: 1\n  io: 1\n  torch: 1\n") {
    std::vector<float> noise(static_cast<std::size_t>(noise_rows * noise_values));
    for (std::size_t i = 0; i < noise.size(); ++i)
      noise[i] = static_cast<float>((i * 2654435761U) >> 7 & 1023U);
    std::vector<std::int64_t> labels(static_cast<std::size_t>(noise_rows));
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int64_t>(i % 2);
    Hdf5Writer writer(path() / "rows.h5");
    writer.add(
        "x", DType::float32, noise_rows, {noise_values},
        {.chunk_rows = chunk_rows, .codec = chunk_rows > 0 ? Hdf5Codec::zstd : Hdf5Codec::none});
    writer.add("y", DType::int64, noise_rows, {}, {});
    writer.append("x", Tensor::borrow(noise.data(), DType::float32, {noise_rows, noise_values}));
    writer.append("y", Tensor::borrow(labels.data(), DType::int64, {noise_rows}));
    writer.finish();
  }

  // With so many files at once at most, which the program cannot raise by itself.
  Finished under_file_limit(std::uint64_t files, const std::string& runs) const {
    std::vector<std::string> words{"-c",
                                   "ulimit -n " + std::to_string(files) + "; exec \"$0\" \"$@\"",
                                   headrace::test::headrace_program()};
    const std::vector<std::string> train = TrainingFolder::train({"runs=" + runs});
    words.insert(words.end(), train.begin(), train.end());
    return run_program("/bin/sh", words, {.folder = path()});
  }

  std::vector<nlohmann::json> advice(const std::string& rule,
                                     const std::string& runs = "runs") const {
    std::vector<nlohmann::json> found = rows("advice.jsonl", runs);
    std::erase_if(found, [&](const nlohmann::json& one) { return one.at("rule") != rule; });
    return found;
  }

  std::vector<nlohmann::json> rows(const std::string& file,
                                   const std::string& runs = "runs") const {
    std::vector<nlohmann::json> found;
    for (const std::string& line : headrace::test::lines_of(content_of(only_run(runs) / file)))
      found.push_back(nlohmann::json::parse(line));
    return found;
  }
};

}  // namespace

TEST_CASE("a run under a small limit of open files is warned before its data are opened, once") {
  const NoiseTraining job;
  const Finished small = job.under_file_limit(30, "small");
  REQUIRE_MESSAGE(small.status == 0, small.err);
  const auto advice = job.advice("file-limit", "small");
  REQUIRE(advice.size() == 1);
  CHECK(advice.front().at("setting") == "ulimit -n");
  CHECK(advice.front().at("old") == "30");
  const auto said = small.err.find("the limit of open files is too small for this run");
  CHECK(said != std::string::npos);
  CHECK(said < small.err.find("1/2"));
  // As many as it said that it needs are enough, and nothing is said.
  const std::string needed = advice.front().at("new");
  const Finished enough = job.under_file_limit(std::stoull(needed), "enough");
  REQUIRE_MESSAGE(enough.status == 0, enough.err);
  CHECK(job.advice("file-limit", "enough").empty());
}

TEST_CASE("a training that cannot open its files is told which limit it is, and how to raise it") {
  const NoiseTraining job;
  const Finished none = job.under_file_limit(12, "none");
  CHECK(none.status == 4);
  CHECK_MESSAGE(contains(none.err, "ulimit -n 12 -> "), none.err);
}

TEST_CASE("a training on rows in any order out of long chunks is told of them, on short ones not") {
  const NoiseTraining long_chunks(256);
  const Finished slow =
      long_chunks.done(NoiseTraining::train({"training.batch=4", "training.evaluation_batch=64"}));
  const auto advice = long_chunks.advice("chunk-shape");
  // Whether it is a notice or a warning is a matter of time, and it is said again where it got
  // worse.
  REQUIRE_MESSAGE(!advice.empty(), slow.err);
  CHECK(advice.size() <= 2);
  CHECK(contains(advice.front().at("verdict"), "chunks of 256 rows"));
  CHECK(advice.front().at("setting") == "headrace pack table --layout");
  CHECK(long_chunks.advice("raise-prefetch").empty());
  const NoiseTraining short_chunks(1);
  short_chunks.done(NoiseTraining::train({"training.batch=4", "training.evaluation_batch=64"}));
  CHECK(short_chunks.advice("chunk-shape").empty());
}

TEST_CASE("whatever holds a training back, what it says of itself is whole") {
  const NoiseTraining job;
  job.done(NoiseTraining::train({"delay.decode=2ms"}));
  for (const nlohmann::json& advice : job.rows("advice.jsonl")) {
    CAPTURE(advice.dump());
    CHECK(advice.at("evidence").size() >= 3);
    for (const char* words :
         {"rule", "severity", "verdict", "setting", "action", "effect", "check"})
      CHECK_FALSE(advice.at(words).get<std::string>().empty());
    CHECK(advice.at("old") != advice.at("new"));
  }
  int epochs = 0;
  for (const nlohmann::json& row : job.rows("metrics.jsonl")) {
    if (!row.contains("bottleneck")) continue;
    ++epochs;
    const std::set<std::string> stages{"",        "consumer", "read", "decode delay",
                                       "collate", "transfer"};
    CHECK_MESSAGE(stages.contains(row.at("bottleneck").get<std::string>()), row.dump());
  }
  CHECK(epochs == 2);
}

TEST_CASE("a run that will take longer than it may is told so, and its goal fails") {
  const NoiseTraining job;
  const Finished late =
      job.done(NoiseTraining::train({"goals.time=1ms", "training.epochs=3", "runs=late"}));
  CHECK(contains(late.out, "goal time: at most 1.00 ms, took "));
  CHECK(contains(late.out, ": FAIL\n"));
  const auto advice = job.advice("time-budget", "late");
  REQUIRE(advice.size() == 1);
  CHECK(contains(advice.front().at("verdict"), "the time wanted is used up"));
  const Finished in_time = job.done(NoiseTraining::train({"goals.time=10h", "runs=in-time"}));
  CHECK(contains(in_time.out, "goal time: at most 10 h 0 min, took "));
  CHECK(contains(in_time.out, ": pass\n"));
  CHECK(job.advice("time-budget", "in-time").empty());
}
