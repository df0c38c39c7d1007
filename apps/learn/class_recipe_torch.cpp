#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/learn/class_course_torch.h>
#include <headrace/apps/learn/class_recipe_torch.h>
#include <headrace/apps/task/thresholds_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/class_weights.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/metrics/label_metrics.h>

#include <utility>
#include <variant>

#include <ATen/ops/tensor.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* several = "several";

void check_threshold(const Threshold& threshold, bool multi_label, std::size_t classes) {
  if (multi_label || classes == 2 || std::holds_alternative<PlainThreshold>(threshold)) return;
  throw ConfigError(
      "[config] predict.threshold: must be none where a record has one of more than two classes, "
      "of "
      "which the largest score decides; there are " +
      std::to_string(classes));
}

}  // namespace

at::Tensor weights_on(Device device, const std::vector<double>& weights) {
  if (weights.empty()) return {};
  return at::tensor(weights, at::kFloat).to(torch_device(device));
}

std::vector<double> loss_weights(LossWeights weights, const std::vector<std::int64_t>& counts,
                                 std::int64_t records, bool multi_label) {
  constexpr double beta = 0.999;
  if (weights == LossWeights::none) return {};
  if (multi_label) return models::positive_weights(counts, records);
  return weights == LossWeights::inverse ? models::inverse_frequency_weights(counts)
                                         : models::effective_number_weights(counts, beta);
}

void require_loss(const LossList& loss, bool binary, const std::string& because) {
  const LossEntry& first = loss.front();
  if (is_binary(first) == binary) return;
  throw ConfigError("[config] " + (first.place.source ? first.place.text() + ": " : std::string()) +
                    "loss must be " + (binary ? "bce" : "cross_entropy") + ", since " + because +
                    ", got " + name_of(first));
}

ClassRecipe::ClassRecipe(std::shared_ptr<const TaskConfig> config, bool ordinal, Device device)
    : PictureRecipe(config), config_(std::move(config)), ordinal_(ordinal), device_(device) {}

monitor::MemoryForecast ClassRecipe::plan() {
  monitor::MemoryForecast forecast = PictureRecipe::plan();
  multi_label_ = records().train.source->multi_label();
  check_task();
  return forecast;
}

void ClassRecipe::check_task() const {
  require_loss(task().loss, multi_label_,
               multi_label_ ? "a record may have several classes" : "every record has one class");
  if (multi_label_ && config_->task.imbalance.sampler == Sampler::balanced)
    throw ConfigError(
        "[config] imbalance.sampler balanced draws by the class of a record, but these may have "
        "several; set imbalance.weights: inverse instead");
  check_threshold(config_->task.predict.threshold, multi_label_, classes().size());
}

std::vector<std::string> ClassRecipe::class_names() const {
  return records().train.source->classes();
}

std::map<std::string, std::string> ClassRecipe::notes() const {
  std::map<std::string, std::string> notes = PictureRecipe::notes();
  notes["labels"] = multi_label_ ? several : "one";
  return notes;
}

void ClassRecipe::recall(const std::map<std::string, std::string>& notes) {
  PictureRecipe::recall(notes);
  const auto found = notes.find("labels");
  multi_label_ = found != notes.end() && found->second == several;
}

std::vector<std::int64_t> ClassRecipe::test_on(const std::filesystem::path& data,
                                               const std::string& split) {
  std::vector<std::int64_t> rows = PictureRecipe::test_on(data, split);
  if (records().test.source->multi_label() != multi_label_)
    throw DataError("[evaluate] " + data.string() + ": records must have " +
                    (multi_label_ ? "any number of classes" : "one class each") +
                    " as those that were trained on");
  return rows;
}

std::unique_ptr<training::Course> ClassRecipe::begin(const training::Member& member) const {
  PictureCourse::Parts all = parts(member);
  all.outputs = static_cast<std::int64_t>(classes().size());
  if (all.trains) {
    const at::Tensor weights = weights_on(
        device_, loss_weights(config_->task.imbalance.weights,
                              count_classes(*records().train.source, member.train),
                              static_cast<std::int64_t>(member.train.size()), multi_label_));
    (multi_label_ ? all.loss.positive_weights : all.loss.class_weights) = weights;
  }
  return std::make_unique<ClassCourse>(
      std::move(all), ClassLabels{.classes = static_cast<std::int64_t>(classes().size()),
                                  .several = multi_label_,
                                  .ordinal = ordinal_});
}

at::Tensor ClassRecipe::predicted(const at::Tensor& scores,
                                  std::span<const training::TensorMap> fitted) const {
  const training::TensorMap thresholds = thresholds_of(
      config_->task.predict, training::mean_of(fitted), multi_label_ ? scores.size(1) : 0);
  return multi_label_ ? training::decided_labels(scores, thresholds)
                      : training::decided_classes(scores, thresholds);
}

}  // namespace headrace::inline v1::app
