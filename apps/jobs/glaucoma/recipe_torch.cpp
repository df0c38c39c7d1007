#include <headrace/apps/jobs/glaucoma/course_torch.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/recipe_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/stratified_kfold.h>

#include <numeric>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::vector<std::int64_t> pick(const std::vector<std::int64_t>& rows,
                               const std::vector<std::int64_t>& places) {
  std::vector<std::int64_t> picked;
  picked.reserve(places.size());
  for (const std::int64_t place : places)
    picked.push_back(rows[static_cast<std::size_t>(place)]);
  return picked;
}

void check_rows(const GlaucomaRows& rows, const std::filesystem::path& file) {
  if (rows.train.empty() || rows.test.empty()) {
    throw DataError("[data] " + file.string() + " must hold samples of both splits, got " +
                    std::to_string(rows.train.size()) + " for training and " +
                    std::to_string(rows.test.size()) + " for the test");
  }
}

}  // namespace

monitor::MemoryForecast GlaucomaRecipe::plan() {
  check_network(config_.model, models::network_names(models::Task::classification),
                {.channels = 3});
  rows_ = read_glaucoma_rows(config_.data.file, config_.seed);
  check_rows(rows_, config_.data.file);
  planned_ = plan_glaucoma_source(config_.data);
  records_ = glaucoma_records(planned_.outline, config_);
  monitor::MemoryForecast forecast;
  if (planned_.resident_bytes > 0) forecast.add("data in memory", planned_.resident_bytes);
  if (records_.cache) forecast.add("decoded cache", records_.source->resident_bytes());
  return forecast;
}

std::uint64_t GlaucomaRecipe::open() {
  records_ = {};
  records_ = glaucoma_records(planned_.open(), config_);
  return planned_.resident_bytes;
}

std::vector<training::Member> GlaucomaRecipe::members() const {
  const std::vector<training::Fold> folds = training::stratified_kfold(
      rows_.train_labels, {.folds = config_.data.folds, .shuffle = true, .seed = config_.seed});
  std::vector<training::Member> members;
  members.reserve(folds.size());
  for (const training::Fold& fold : folds) {
    const auto index = static_cast<std::int64_t>(members.size());
    members.push_back({.index = index,
                       .name = "fold-" + std::to_string(index),
                       .train = pick(rows_.train, fold.train),
                       .validation = pick(rows_.train, fold.test),
                       .test = rows_.test});
  }
  return members;
}

std::unique_ptr<training::Course> GlaucomaRecipe::begin(const training::Member& member) const {
  return std::make_unique<GlaucomaCourse>(config_, records_, member);
}

std::map<std::string, std::string> GlaucomaRecipe::notes() const {
  std::map<std::string, std::string> notes = network_notes(config_.model);
  notes.insert({{"task", "classification"},
                {"classes", std::to_string(glaucoma_classes)},
                {"normalisation", "imagenet"}});
  return notes;
}

std::vector<std::int64_t> GlaucomaRecipe::test_on(const std::filesystem::path& data,
                                                  const std::string& split) {
  const GlaucomaRows rows = read_glaucoma_rows(data, config_.seed);
  GlaucomaData labelled;
  labelled.file = data;
  labelled.resident = Bytes{0};
  records_ = {.source = plan_glaucoma_source(labelled).open()};
  if (split.empty() || split == "test") return rows.test;
  if (split == "train") return rows.train;
  if (split == "all") {
    std::vector<std::int64_t> all(rows.train.size() + rows.test.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  throw ConfigError("[glaucoma] --split must be test, train or all, got " + split);
}

Pipeline GlaucomaRecipe::prediction(const std::filesystem::path& data,
                                    const training::Feed& feed) const {
  return glaucoma_evaluation_pipeline({.source = plan_glaucoma_source_for_prediction(data).open()},
                                      feed.batch, config_.training.channels_last, feed.device);
}

std::unique_ptr<training::Recipe> glaucoma_recipe(const JobConfig& config, Device) {
  return std::make_unique<GlaucomaRecipe>(dynamic_cast<const GlaucomaConfig&>(config));
}

}  // namespace headrace::inline v1::app
