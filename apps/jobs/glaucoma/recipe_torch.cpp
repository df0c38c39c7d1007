#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/recipe_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/training/stratified_kfold.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace headrace::inline v1::app {

GlaucomaCourse::GlaucomaCourse(const GlaucomaConfig& config, GlaucomaRecords records,
                               training::Member member)
    : config_(config),
      records_(std::move(records)),
      member_(std::move(member)),
      unpack_(training::unpack_images({.rows_are_hwc = config.training.channels_last,
                                       .channels_last = config.training.channels_last,
                                       .classes = glaucoma_classes})) {}

NetworkShape GlaucomaCourse::shape() const {
  NetworkShape shape{.outputs = glaucoma_classes, .channels = 3, .sides_of_data = true};
  if (!records_.source) return shape;
  const Shape map = records_.source->fields().at(glaucoma_map_names[0]).shape;
  shape.sides.assign(map.extents().begin(), map.extents().end());
  return shape;
}

std::vector<training::Stage> GlaucomaCourse::stages() const {
  return stages_of(config_);
}

const GlaucomaConfig& GlaucomaCourse::of_stage(const training::Stage& stage) const {
  return dynamic_cast<const GlaucomaConfig&>(config_.of_stage(stage.number));
}

std::unique_ptr<models::Network> GlaucomaCourse::network() const {
  return make_task_network(of_stage({}).model, shape(), !member_.train.empty());
}

void GlaucomaCourse::try_network(models::Network& network, at::Device device) const {
  try_task_network(config_.model, shape(), network, device);
}

Pipeline GlaucomaCourse::train(const training::Stage& stage, const training::Feed& feed) const {
  return glaucoma_training_pipeline(records_.subset(member_.train), of_stage(stage), feed.device);
}

Pipeline GlaucomaCourse::evaluation(training::Split split, const training::Feed& feed) const {
  const auto& rows = split == training::Split::test ? member_.test : member_.validation;
  return glaucoma_evaluation_pipeline(records_.subset(rows), feed.batch,
                                      config_.training.channels_last, feed.device);
}

training::Example GlaucomaCourse::example(const Batch& batch,
                                          const training::Moment& moment) const {
  return unpack_(batch, moment.device);
}

std::vector<training::Term> GlaucomaCourse::loss(const training::Output& output,
                                                 const training::Example& example,
                                                 const training::Moment& moment) const {
  const GlaucomaLoss& loss = of_stage(moment.stage).loss;
  const at::Tensor& target = training::only(example.targets, "target");
  models::ClassificationWeights weights;  // rows that are absent weigh nothing
  if (example.present.defined()) weights.of_samples = example.present.to(at::kFloat);
  const models::FocalLossOptions focal{.gamma = loss.gamma, .weights = weights};
  switch (loss.name) {
    case GlaucomaLossName::focal:
      return {{.value = models::focal_loss(output.main, target, focal)}};
    case GlaucomaLossName::clamped_focal:
      return {{.value = models::clamped_focal_loss(output.main, target, focal)}};
    case GlaucomaLossName::cross_entropy:
      break;
  }
  return {{.value = models::cross_entropy(output.main, target, {.weights = weights})}};
}

std::unique_ptr<training::Metric> GlaucomaCourse::metric(training::Split,
                                                         const training::TensorMap&) const {
  return std::make_unique<training::ClassificationMetric>(glaucoma_classes);
}

training::Selection GlaucomaCourse::selected_by() const {
  return {.figure = "accuracy", .goal = training::Goal::maximum};
}

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

// Stratified; patients stay whole where they are known.
std::vector<training::Fold> folds_of(const GlaucomaRows& rows, const GlaucomaConfig& config) {
  if (rows.train_patients.empty())
    return training::stratified_kfold(
        rows.train_labels, {.folds = config.data.folds, .shuffle = true, .seed = config.seed});
  const auto parts = folds_of_patients(rows, config.data.folds, config.seed);
  std::vector<training::Fold> folds(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t fold = 0; fold < folds.size(); ++fold) {
      auto& side = fold == part ? folds[fold].test : folds[fold].train;
      side.insert(side.end(), parts[part].begin(), parts[part].end());
    }
  for (training::Fold& fold : folds)
    std::ranges::sort(fold.train);
  return folds;
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
  const std::vector<training::Fold> folds = folds_of(rows_, config_);
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
  judged_ = data;
  judged_part_ = split.empty() ? "test" : split;
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

PlacedList GlaucomaRecipe::placed(training::Split, std::vector<std::int64_t> records) const {
  return placed_rows(judged_.empty() ? config_.data.file : judged_, "", std::move(records));
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
