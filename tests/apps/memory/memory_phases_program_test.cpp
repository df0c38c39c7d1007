// What a run keeps of its memory.
#include <headrace/apps/run/csv_table.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using nlohmann::json;

class PhasesTraining : public headrace::test::TrainingFolder {
 public:
  PhasesTraining()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata: {file: data.h5}\n"
            "training: {epochs: 2, batch: 32, evaluation_batch: 8, member: 0}\n"
            "threads: {loader: 1, torch: 1}\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", 200, 40);
  }
};

std::vector<json> json_rows(const std::filesystem::path& file) {
  std::vector<json> rows;
  std::istringstream lines(content_of(file));
  for (std::string line; std::getline(lines, line);)
    rows.push_back(json::parse(line));
  return rows;
}

}  // namespace

TEST_CASE("a run tells what tensors took in training, evaluation and test") {
  const PhasesTraining job;
  job.done(PhasesTraining::train({}));
  const auto run = job.only_run();
  const std::string log = content_of(run / "log.txt");
  CAPTURE(log);
  for (const char* phase : {"training, epoch 1", "evaluation, epoch 1", "training, epoch 2",
                            "evaluation, epoch 2", "end of stage", "test"})
    CHECK_MESSAGE(contains(log, std::string("memory of ") + phase + ": tensors "), phase);
  std::vector<json> epochs;
  std::vector<json> others;
  for (const json& row : json_rows(run / "metrics.jsonl")) {
    if (row.contains("train_loss")) epochs.push_back(row);
    if (row.contains("phase")) others.push_back(row);
  }
  REQUIRE(epochs.size() == 2);
  CHECK(others.size() == 2);
  for (const json& row : epochs) {
    const auto held = row.at("training_tensors_bytes").get<std::int64_t>();
    const auto training = row.at("training_tensors_peak_bytes").get<std::int64_t>();
    const auto evaluation = row.at("evaluation_tensors_peak_bytes").get<std::int64_t>();
    CHECK(held > 0);
    // 32 rows with what their gradients need, and 8 without: each phase has its own peak.
    CHECK(training - held > 2 * (evaluation - held));
    CHECK(evaluation > held);
    CHECK(row.at("training_process_bytes").get<std::int64_t>() > held);
  }
  const headrace::app::CsvTable table = headrace::app::read_csv_file(run / "metrics.csv");
  for (const char* column : {"training_tensors_peak_bytes", "evaluation_process_bytes"})
    CHECK_MESSAGE(std::ranges::find(table.columns, column) != table.columns.end(), column);
}
