#include <headrace/apps/jobs/leak/course_torch.h>
#include <headrace/apps/jobs/leak/metric_torch.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/stage_torch.h>
#include <headrace/engine/torch/as_tensor.h>
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
    : config_(config),
      files_(std::move(files)),
      sources_(std::move(sources)),
      class_weights_(weights_of(files_.training, config.loss.leak_boost)) {
  if (class_weights_.defined()) class_weights_ = class_weights_.to(device);
}

std::vector<training::Stage> LeakCourse::stages() const {
  return {stage_of(config_.training)};
}

std::unique_ptr<models::Network> LeakCourse::network() const {
  return models::make_leak_cnn({.classes = leak_classes});
}

Pipeline LeakCourse::train(const training::Stage&, const training::Feed& feed) const {
  return leak_training_pipeline(sources_.training, files_.training, config_, feed.device);
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
                                             const training::Moment&) const {
  const models::LeakLossTerms terms =
      models::leak_loss_terms(output.main, training::only(example.targets, "target"),
                              {.class_weights = class_weights_,
                               .auxiliary = config_.loss.auxiliary,
                               .present = example.present});
  return {{.name = "classes", .value = terms.classes, .weight = terms.weight},
          {.name = "auxiliary", .value = terms.auxiliary, .factor = config_.loss.auxiliary}};
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

std::uint64_t LeakCourse::step_bytes(const training::Stage& stage) const {
  // Floats a cell. Saved: the outputs of three convolutions (32, 64, 64), the pooled ones (32, 32)
  // with places of eight bytes (64, 64), the input; on top the gradients of the widest layers.
  constexpr std::uint64_t trained = 370 + 200;
  constexpr std::uint64_t evaluated = 220;
  return step_memory(stage, files_.training.mels * files_.training.frames, trained, evaluated);
}

}  // namespace headrace::inline v1::app
