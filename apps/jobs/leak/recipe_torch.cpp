#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/leak/metric_torch.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/recipe_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/leak_loss.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/tensor.h>

namespace headrace::inline v1::app {
namespace {

// On the CPU; not defined without labels.
at::Tensor weights_of(const LeakFile& training, double boost) {
  if (training.labels.empty()) return {};
  const auto leaks = std::count(training.labels.begin(), training.labels.end(), 1);
  const std::int64_t counts[] = {static_cast<std::int64_t>(training.labels.size()) - leaks, leaks};
  return at::tensor(models::leak_class_weights(counts, 1, boost), at::kFloat);
}

}  // namespace

LeakCourse::LeakCourse(const LeakConfig& config, LeakSplits files, LeakSources sources,
                       at::Device device)
    : config_(config), files_(std::move(files)), sources_(std::move(sources)) {
  for (const training::Stage& stage : stages_of(config_)) {
    const at::Tensor weights = weights_of(files_.training, of_stage(stage).loss.leak_boost);
    class_weights_.push_back(weights.defined() ? weights.to(device) : weights);
  }
}

const LeakConfig& LeakCourse::of_stage(const training::Stage& stage) const {
  return dynamic_cast<const LeakConfig&>(config_.of_stage(stage.number));
}

NetworkShape LeakCourse::shape() const {
  NetworkShape shape{.outputs = leak_classes, .channels = 1, .sides_of_data = true};
  const LeakFile& segments = files_.training;
  if (segments.mels > 0) shape.sides = {segments.mels, segments.frames};
  return shape;
}

std::vector<training::Stage> LeakCourse::stages() const {
  return stages_of(config_);
}

std::unique_ptr<models::Network> LeakCourse::network() const {
  const bool starts = sources_.training != nullptr;
  const ModelSettings& model = of_stage({}).model;
  if (!config_.is_leak_cnn()) return make_task_network(model, shape(), starts);
  std::unique_ptr<models::Network> network = models::make_leak_cnn({.classes = leak_classes});
  if (starts) start_network(model, *network, {.head = "class_head."});
  return network;
}

void LeakCourse::try_network(models::Network& network, at::Device device) const {
  try_task_network(config_.model, shape(), network, device);
}

Pipeline LeakCourse::train(const training::Stage& stage, const training::Feed& feed) const {
  return leak_training_pipeline(sources_.training, files_.training, of_stage(stage), feed.device);
}

Pipeline LeakCourse::evaluation(training::Split split, const training::Feed& feed) const {
  const auto& segments = split == training::Split::test ? sources_.testing : sources_.validation;
  return leak_evaluation_pipeline(segments, feed.batch, feed.device);
}

training::Example LeakCourse::example(const Batch& batch, const training::Moment& moment) const {
  const auto format = config_.training.channels_last ? at::MemoryFormat::ChannelsLast
                                                     : at::MemoryFormat::Contiguous;
  const auto field = [&](const char* name) {
    return as_tensor(batch[name]).to(moment.device, /*non_blocking=*/true);
  };
  at::Tensor mel = field("mel").to(at::kFloat);
  mel.sub_(files_.training.mean).mul_(1.0 / files_.training.deviation);
  training::Example example{.inputs = {{"mel", mel.unsqueeze(1).contiguous(format)}},
                            .rows = batch.valid_rows()};
  if (batch.has("label")) example.targets.emplace("label", field("label"));
  example.present = training::present_rows(batch, moment.device);
  return example;
}

std::vector<training::Term> LeakCourse::loss(const training::Output& output,
                                             const training::Example& example,
                                             const training::Moment& moment) const {
  const double auxiliary = of_stage(moment.stage).loss.auxiliary;
  const at::Tensor& class_weights =
      class_weights_.at(static_cast<std::size_t>(moment.stage.number));
  const at::Tensor& target = training::only(example.targets, "target");
  if (!config_.is_leak_cnn()) {
    models::ClassificationWeights weights{.of_classes = class_weights};
    if (example.present.defined()) weights.of_samples = example.present.to(at::kFloat);
    const models::MeanLoss mean =
        models::mean_cross_entropy(output.main, target, {.weights = weights});
    return {{.name = "classes", .value = mean.value, .weight = mean.weight}};
  }
  const models::LeakLossTerms terms = models::leak_loss_terms(
      output.main, target,
      {.class_weights = class_weights, .auxiliary = auxiliary, .present = example.present});
  return {{.name = "classes", .value = terms.classes, .weight = terms.weight},
          {.name = "auxiliary", .value = terms.auxiliary, .factor = auxiliary}};
}

at::Tensor LeakCourse::scores(const training::Output& output) const {
  return output.main.narrow(1, 0, leak_classes).to(at::kFloat).softmax(1);
}

std::unique_ptr<training::Metric> LeakCourse::metric(training::Split split,
                                                     const training::TensorMap& fitted) const {
  if (split == training::Split::train)
    return std::make_unique<training::ClassificationMetric>(leak_classes);
  return std::make_unique<LeakMetric>(
      split == training::Split::test ? files_.testing : files_.validation, fitted);
}

training::Selection LeakCourse::selected_by() const {
  return {.figure = "f1", .goal = training::Goal::maximum};
}

namespace {

constexpr const char* statistics = "mean %.17g, deviation %.17g dB";

std::string layout_text(const LeakFile& file) {
  return to_string(Shape{file.longs, file.shorts, file.mels, file.frames});
}

void require_same_layout(const LeakFile& file, const LeakFile& training) {
  if (layout_text(file) == layout_text(training)) return;
  throw DataError("[leak] " + file.path.string() + ": recordings must be " + layout_text(training) +
                  " as those of " + training.path.string() + ", got " + layout_text(file));
}

LeakSplits read_splits(const LeakData& data) {
  LeakSplits files{.training = read_leak_file(data.training)};
  files.validation = read_leak_file(data.validation, &files.training);
  files.testing = read_leak_file(data.testing, &files.training);
  require_same_layout(files.validation, files.training);
  require_same_layout(files.testing, files.training);
  return files;
}

}  // namespace

monitor::MemoryForecast LeakRecipe::plan() {
  std::vector<std::string> networks = models::network_names(models::Task::classification);
  networks.emplace_back(leak_network);
  check_network(config_.model, networks, {.channels = 1});
  files_ = read_splits(config_.data);
  require_mels(files_.training);
  training_ = plan_leak_data(files_.training, config_.data, device_);
  validation_ = plan_leak_data(files_.validation, config_.data, device_);
  testing_ = plan_leak_data(files_.testing, config_.data, device_);
  sources_ = {training_.outline, validation_.outline, testing_.outline};
  monitor::MemoryForecast forecast;
  forecast.add("data in memory",
               training_.resident_bytes + validation_.resident_bytes + testing_.resident_bytes);
  return forecast;
}

void LeakRecipe::require_mels(const LeakFile& file) const {
  if (!config_.is_leak_cnn() || file.mels >= models::leak_cnn_mels) return;
  throw ConfigError("[leak] " + file.path.string() + ": model.name: " + leak_network + " needs " +
                    std::to_string(models::leak_cnn_mels) + " mels or more, got " +
                    std::to_string(file.mels) +
                    "; make spectrograms of as many, or train another network, resnet18 say");
}

std::uint64_t LeakRecipe::open() {
  sources_ = {training_.open(), validation_.open(), testing_.open()};
  return training_.resident_bytes + validation_.resident_bytes + testing_.resident_bytes;
}

std::unique_ptr<training::Course> LeakRecipe::begin(const training::Member&) const {
  return std::make_unique<LeakCourse>(config_, files_, sources_, torch_device(device_));
}

std::map<std::string, std::string> LeakRecipe::notes() const {
  char normalisation[96];
  std::snprintf(normalisation, sizeof normalisation, statistics, files_.training.mean,
                files_.training.deviation);
  std::map<std::string, std::string> notes;
  if (config_.is_leak_cnn())
    notes["network"] = leak_network;
  else
    notes = network_notes(config_.model);
  notes.insert({{"task", "classification"},
                {"classes", "0 other, 1 LEAK"},
                {"normalisation", normalisation}});
  return notes;
}

void LeakRecipe::recall(const std::map<std::string, std::string>& notes) {
  const auto found = notes.find("normalisation");
  LeakFile& training = files_.training;
  if (found == notes.end() || std::sscanf(found->second.c_str(), "mean %lg, deviation %lg dB",
                                          &training.mean, &training.deviation) != 2)
    throw training::CheckpointError(
        "[leak] the checkpoint's normalisation must be \"mean M, deviation D dB\", got " +
        (found == notes.end() ? std::string("none") : '"' + found->second + '"'));
}

at::Tensor LeakRecipe::predicted(const at::Tensor& scores,
                                 std::span<const training::TensorMap> fitted) const {
  const std::optional<double> threshold = leak_threshold(fitted.front());
  if (!threshold) return Recipe::predicted(scores, fitted);
  return (scores.select(1, 1) >= *threshold).to(at::kLong);
}

std::vector<std::int64_t> LeakRecipe::test_on(const std::filesystem::path& data,
                                              const std::string& split) {
  if (!split.empty() && split != "all" && split != "test")
    throw ConfigError("[leak] " + data.string() +
                      ": a file of this kind is one part, --split may be all, got " + split +
                      "; name the file of that part");
  files_.testing = read_leak_file(data, &files_.training);
  require_mels(files_.testing);
  sources_.testing = plan_leak_segments(files_.testing, config_.data.resident.value, {}).outline;
  return {};
}

PlacedList LeakRecipe::placed(training::Split split, std::vector<std::int64_t>) const {
  using enum training::Split;
  const LeakFile& file = split == train        ? files_.training
                         : split == validation ? files_.validation
                                               : files_.testing;
  const auto& segments = split == train        ? sources_.training
                         : split == validation ? sources_.validation
                                               : sources_.testing;
  std::vector<std::int64_t> all(static_cast<std::size_t>(segments->size()));
  std::iota(all.begin(), all.end(), 0);
  return placed_rows(file.path, "", std::move(all));
}

Pipeline LeakRecipe::prediction(const std::filesystem::path& data,
                                const training::Feed& feed) const {
  const LeakFile file = read_leak_recordings(data, &files_.training);
  require_mels(file);
  return leak_evaluation_pipeline(plan_leak_segments(file, config_.data.resident.value, {}).outline,
                                  feed.batch, feed.device);
}

std::unique_ptr<training::Recipe> leak_recipe(const JobConfig& config, Device device) {
  return std::make_unique<LeakRecipe>(dynamic_cast<const LeakConfig&>(config), device);
}

}  // namespace headrace::inline v1::app
