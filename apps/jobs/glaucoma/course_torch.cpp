#include <headrace/apps/jobs/glaucoma/course_torch.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/stage_torch.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/focal_loss.h>

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

}  // namespace headrace::inline v1::app
