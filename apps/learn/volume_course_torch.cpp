#include <headrace/apps/learn/volume_course_torch.h>
#include <headrace/apps/learn/volume_job.h>
#include <headrace/apps/task/topology_term_torch.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr const char* image_field = "image";
constexpr const char* label_field = "label";
// Sums of larger volumes are kept on the host.
constexpr std::size_t most_device_sums = 2_GiB;

std::size_t sum_bytes(const std::array<std::int64_t, 3>& extent, std::int64_t outputs) {
  return static_cast<std::size_t>((outputs + 1) * voxels_of(extent)) * sizeof(float);
}

// Of the first list that asks for it.
std::shared_ptr<models::TopologyLoss> topology_of(const VolumeCourse::Parts& parts) {
  if (!parts.trains) return nullptr;
  auto made = make_topology(parts.config->task.loss, parts.records.ignore);
  for (const auto& stage : parts.config->stages)
    if (!made)
      made = make_topology(dynamic_cast<const TaskConfig&>(*stage).task.loss, parts.records.ignore);
  return made;
}

}  // namespace

NetworkShape volume_shape(const VolumeSettings& volume, std::int64_t outputs,
                          std::int64_t channels) {
  NetworkShape shape{.outputs = outputs,
                     .channels = channels,
                     .sides = {volume.patch.begin(), volume.patch.end()},
                     .dense = true};
  const auto& spacing = volume.preparation.spacing;
  if (spacing[0] > 0.0) shape.spacing = {spacing.begin(), spacing.end()};
  return shape;
}

std::size_t held_of_volume(const std::array<std::int64_t, 3>& extent, std::int64_t outputs,
                           Device device) {
  const std::size_t sums = sum_bytes(extent, outputs);
  if (device.is_cuda() && sums <= most_device_sums) return 0;
  // Labels, and which of them count.
  return sums + static_cast<std::size_t>(voxels_of(extent)) * (sizeof(std::int64_t) + sizeof(bool));
}

VolumeCourse::VolumeCourse(Parts parts)
    : TaskCourse({.config = parts.config,
                  .trains = parts.trains,
                  .loss = {.sigmoid = parts.sigmoid,
                           .ignore = parts.records.ignore.value_or(-1),
                           .topology = topology_of(parts),
                           .target = label_field}}),
      parts_(std::move(parts)) {
  const TaskSettings& task = parts_.config->task;
  validation_ = windows_of(parts_.records.set, parts_.member.validation, task.volume,
                           task.predict.volume.validation_step);
  test_ = windows_of(parts_.test, parts_.member.test, task.volume, task.predict.volume.step);
}

VolumeCourse::Windows VolumeCourse::windows_of(const VolumeSet& set,
                                               const std::vector<std::int64_t>& cases,
                                               const VolumeSettings& volume, double step) {
  Windows windows{.plan = plan_windows(set, cases, volume.patch, step)};
  auto volumes = std::make_shared<std::vector<training::WindowedVolume>>();
  for (std::size_t i = 0; i < cases.size(); ++i)
    volumes->push_back({.name = set.prepared.at(static_cast<std::size_t>(cases[i])).name,
                        .grid = windows.plan.grids[i]});
  windows.volumes = std::move(volumes);
  return windows;
}

NetworkShape VolumeCourse::shape() const {
  return volume_shape(parts_.config->task.volume, parts_.outputs, parts_.channels);
}

Pipeline VolumeCourse::train(const training::Stage& stage, const training::Feed& feed) const {
  const TaskConfig& config = of_stage(stage);
  return volume_training_pipeline(parts_.records.set, parts_.member.train,
                                  volume_feed(config, parts_.records),
                                  {.size = stage.batch, .tail = Tail::drop}, feed.device);
}

bool VolumeCourse::evaluates(training::Split split) const {
  return windows(split).plan.size() > 0;
}

Pipeline VolumeCourse::evaluation(training::Split split, const training::Feed& feed) const {
  return volume_window_pipeline(split == training::Split::test ? parts_.test : parts_.records.set,
                                windows(split).plan, volume_feed(*parts_.config, parts_.records),
                                feed.batch, feed.device);
}

training::Example VolumeCourse::example(const Batch& batch, const training::Moment& moment) const {
  const auto field = [&](const std::string& name) {
    return as_tensor(batch[name]).to(moment.device, /*non_blocking=*/true);
  };
  training::Example example{.inputs = {{image_field, field(image_field)}},
                            .present = training::present_rows(batch, moment.device),
                            .rows = batch.valid_rows()};
  const std::string smaller = std::string(label_field) + "_";
  for (const std::string& name : batch.names()) {
    if (name == "valid" || name == image_field) continue;
    const bool classes = !parts_.sigmoid && (name == label_field || name.starts_with(smaller));
    example.targets.emplace(name, classes ? field(name).to(at::kLong) : field(name));
  }
  return example;
}

training::Output VolumeCourse::forward(models::Network& network, const training::Example& example,
                                       const training::Moment& moment) const {
  if (moment.training) return Course::forward(network, example, moment);
  return {.main = network.forward(training::only(example.inputs, "input"))};
}

std::unique_ptr<training::Inference> VolumeCourse::inference(training::Split split) const {
  training::WindowInferenceOptions options{.most_device_bytes = most_device_sums};
  if (split == training::Split::test)
    options.mirror = mirrored_axes(parts_.config->task.predict.volume);
  return std::make_unique<training::WindowInference>(windows(split).volumes, std::move(options));
}

std::unique_ptr<training::Metric> VolumeCourse::metric(training::Split,
                                                       const training::TensorMap&) const {
  return std::make_unique<training::SegmentationMetric>(training::SegmentationOptions{
      .classes = parts_.records.classes, .ignore = parts_.records.ignore, .target = label_field});
}

}  // namespace headrace::inline v1::app
