#include <headrace/apps/jobs/leak/course_torch.h>
#include <headrace/apps/jobs/leak/metric_torch.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/stage_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/leak_loss.h>
#include <headrace/models/networks/leak_cnn.h>

#include <algorithm>
#include <utility>

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
  if (batch.has("valid")) example.present = field("valid").to(at::kBool);
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

}  // namespace headrace::inline v1::app
