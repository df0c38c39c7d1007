#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;

namespace fs = std::filesystem;

constexpr std::int64_t train_rows = 100;
constexpr std::int64_t test_rows = 20;

// A folder with data and a configuration: one epoch of 5 steps, of two folds.
class Job : public headrace::test::TrainingFolder {
 public:
  Job()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata:\n  file: data.h5\n  folds: 2\ntraining:\n"
            "  epochs: 1\n  batch: 10\n  evaluation_batch: 20\n"
            "threads:\n  loader: 1\n  torch: 1\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", train_rows, test_rows);
  }

  Finished predict(const std::vector<fs::path>& weights) const {
    std::vector<std::string> words{"predict", "--data", "data.h5", "--output", "out.csv"};
    for (const fs::path& file : weights) {
      words.emplace_back("--checkpoint");
      words.push_back(file.string());
    }
    return run(words);
  }

  // All numbers but the first of each row, row by row.
  std::vector<double> predictions(const std::vector<fs::path>& weights) const {
    const Finished finished = predict(weights);
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    std::istringstream csv(content_of(path() / "out.csv"));
    std::string line;
    std::getline(csv, line);
    CHECK(line == "index,file,p0,p1,p2,p3,p4,predicted");
    std::vector<double> values;
    for (std::int64_t row = 0; std::getline(csv, line); ++row) {
      std::istringstream cells(line);
      std::string cell;
      std::getline(cells, cell, ',');
      CHECK(cell == std::to_string(row));
      std::getline(cells, cell, ',');
      CHECK(contains(cell, "data.h5"));
      CHECK(cell.ends_with('[' + std::to_string(row) + ']'));
      while (std::getline(cells, cell, ','))
        values.push_back(std::stod(cell));
    }
    CHECK(values.size() == 6 * (train_rows + test_rows));
    return values;
  }
};

}  // namespace

TEST_CASE("predict writes a row of probabilities for each sample, and its class") {
  const Job job;
  REQUIRE(job.run(Job::train({"training.member=1"})).status == 0);
  const fs::path run = job.runs().front();
  const std::vector<double> rows = job.predictions({run / "checkpoints/fold-1/best.safetensors"});
  for (auto row = rows.begin(); row != rows.end(); row += 6) {
    CHECK(row[0] + row[1] + row[2] + row[3] + row[4] == doctest::Approx(1.0).epsilon(1e-5));
    CHECK(row[5] == static_cast<double>(std::max_element(row, row + 5) - row));
  }
  CHECK((job.predictions({run}) == rows));  // the only weights there are
  job.predictions({headrace::test::newest_checkpoint(run)});

  std::ofstream(job.path() / "no.safetensors") << "no weights";
  CHECK(job.predict({"no.safetensors"}).status == 6);
  fs::create_directory(job.path() / "empty");
  CHECK(job.predict({"empty"}).status == 6);
}

TEST_CASE("the folds of a run vote, and only with each other") {
  const Job job;
  REQUIRE(job.run(Job::train({})).status == 0);
  const fs::path run = job.runs().front();
  const auto fold = [](const fs::path& of, int number) {
    return of / "checkpoints" / ("fold-" + std::to_string(number)) / "best.safetensors";
  };
  const std::vector<double> a = job.predictions({fold(run, 0)});
  const std::vector<double> b = job.predictions({fold(run, 1)});
  const std::vector<double> voted = job.predictions({run});
  CHECK((job.predictions({fold(run, 1), fold(run, 0)}) == voted));
  CHECK((a != b));
  for (std::size_t i = 0; i < voted.size(); ++i)
    if (i % 6 < 5) CHECK(voted[i] == doctest::Approx((a[i] + b[i]) / 2).epsilon(1e-5));

  CHECK(job.predict({run, fold(run, 0)}).status == 6);  // the same one twice
  REQUIRE(job.run(Job::train({"runs=others", "training.learning_rate=1e-4"})).status == 0);
  const Finished mixed = job.predict({fold(run, 0), fold(job.runs("others").front(), 1)});
  CHECK(mixed.status == 6);
  CHECK(contains(mixed.err, "one run"));
}
