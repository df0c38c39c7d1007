#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/apps/key_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/training/checkpoint/best_weights.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ATen/ops/equal.h>
#include <doctest/doctest.h>

namespace headrace::test {

namespace fs = std::filesystem;

namespace {

constexpr int records = 48;
constexpr int values = 6;

std::string configuration(const std::string& more) {
  return R"(kind: classification
seed: 5
device: cpu
threads: {loader: 1, torch: 1}
tensorboard: false
data:
  train: {source: hdf5, file: features.h5, data: /features, labels: /labels}
array: {normalise: none}
model: {name: mlp, width: 0.05, allow_random_frozen: true}
augment: []
selected_by: loss
memory: {measure: false}
)" + more;
}

fs::path first_member(const fs::path& run) {
  std::vector<fs::path> members{fs::directory_iterator(run / "checkpoints"), {}};
  REQUIRE_FALSE(members.empty());
  return *std::ranges::min_element(members);
}

}  // namespace

KeyRun::KeyRun(fs::path run, Finished finished)
    : run_(std::move(run)),
      err_(std::move(finished.err)),
      metrics_(app::read_csv_file(run_ / "metrics.csv")),
      last_(training::read_checkpoint(newest_checkpoint(run_))) {}

std::int64_t KeyRun::epochs() const {
  return static_cast<std::int64_t>(metrics_.rows.size());
}

std::vector<std::string> KeyRun::column(const std::string& name) const {
  const auto found = std::ranges::find(metrics_.columns, name);
  REQUIRE_MESSAGE(found != metrics_.columns.end(), name);
  std::vector<std::string> cells;
  for (const std::vector<std::string>& row : metrics_.rows)
    cells.push_back(row[static_cast<std::size_t>(found - metrics_.columns.begin())]);
  return cells;
}

std::vector<double> KeyRun::numbers(const std::string& name) const {
  std::vector<double> numbers;
  for (const std::string& cell : column(name))
    numbers.push_back(std::stod(cell));
  return numbers;
}

at::Tensor KeyRun::kept(const std::string& name) const {
  return training::read_best_weights(first_member(run_) / "best.safetensors").weights.at(name);
}

std::string KeyRun::log() const {
  return content_of(run_ / "log.txt");
}

KeyFolder::KeyFolder(int spoilt, const std::string& more) : TrainingFolder(configuration(more)) {
  std::vector<float> features = array_rows(records, values, 3);
  for (float& value : features)
    value /= 10.0F;
  for (int i = 0; spoilt >= 0 && i < values; ++i)  // together more than a float can be
    features[static_cast<std::size_t>(spoilt * values + i)] = 3e38F;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < records; ++i)
    labels.push_back(i % 3);
  Hdf5Writer writer(path() / "features.h5");
  add_dataset<float>(writer, "/features", {records, values}, features);
  add_dataset<std::int32_t>(writer, "/labels", {records}, labels);
  writer.finish();
}

Finished KeyFolder::tried(const std::vector<std::string>& settings) const {
  std::vector<std::string> all{"runs=runs" + std::to_string(++runs_), "training.epochs=3",
                               "training.batch=8", "training.schedule=constant",
                               "training.learning_rate=0.01"};
  for (const std::string& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    all.push_back(key.find('.') == std::string::npos || key.starts_with("schedule.") ||
                          key.starts_with("optimizer.")
                      ? "training." + setting
                      : setting);
  }
  return run(TrainingFolder::train(all));
}

KeyRun KeyFolder::train(const std::vector<std::string>& settings) const {
  Finished finished = tried(settings);
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return {only_run("runs" + std::to_string(runs_)), std::move(finished)};
}

bool same_weights(const KeyRun& one, const KeyRun& other) {
  const training::TensorMap& others = other.last().weights;
  return one.last().weights.size() == others.size() &&
         std::ranges::all_of(one.last().weights, [&](const auto& entry) {
           return at::equal(entry.second, others.at(entry.first));
         });
}

}  // namespace headrace::test
