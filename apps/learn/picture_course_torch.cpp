#include <headrace/apps/learn/picture_course_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/sample/subset.h>

#include <utility>
#include <vector>

#include <ATen/ops/tensor.h>

namespace headrace::inline v1::app {
namespace {

std::shared_ptr<const Source> rows_of(std::shared_ptr<const Source> source,
                                      const std::vector<std::int64_t>& rows) {
  return std::make_shared<const Subset>(std::move(source), rows);
}

at::Tensor of_channels(const std::vector<float>& values, const at::Tensor& like) {
  return at::tensor(values, at::kFloat).to(like.device()).view({1, -1, 1, 1});
}

}  // namespace

training::ImageFields image_fields(const PictureCourse::Parts& parts, const std::string& target,
                                   std::int64_t classes) {
  const bool channels_last = parts.config->training.channels_last;
  training::ImageFields fields{.target = target,
                               .rows_are_hwc = channels_last,
                               .channels_last = channels_last,
                               .classes = classes};
  const Normalize& by = parts.feed.normalize;
  const auto& [mean, std] = parts.statistics;
  if (by.mean == mean && by.std == std) return fields;
  fields.of_floats = true;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    fields.mean.push_back((double{mean[c]} - double{by.mean[c]}) / double{by.std[c]});
    fields.stddev.push_back(double{std[c]} / double{by.std[c]});
  }
  return fields;
}

NetworkShape PictureCourse::shape() const {
  NetworkShape shape = input_shape(parts_.outputs, task().image.decode.side, parts_.record);
  shape.dense = parts_.feed.whole;
  return shape;
}

Pipeline PictureCourse::train(const training::Stage& stage, const training::Feed& feed) const {
  const auto& rows = parts_.member.train;
  TaskFeed of_this = parts_.feed;
  of_this.task = of_stage(stage).task;
  of_this.task.data.decode = task().data.decode;  // with its limit, which is the run's
  of_this.seed = of_stage(stage).seed;
  return training_pipeline(rows_of(parts_.records.train.source, rows),
                           labels_at(*parts_.records.train.source, rows), of_this, stage.batch,
                           feed.device);
}

bool PictureCourse::evaluates(training::Split split) const {
  return !(split == training::Split::test ? parts_.member.test : parts_.member.validation).empty();
}

Pipeline PictureCourse::evaluation(training::Split split, const training::Feed& feed) const {
  const bool test = split == training::Split::test;
  return evaluation_pipeline(
      rows_of((test ? parts_.records.test : parts_.records.validation).source,
              test ? parts_.member.test : parts_.member.validation),
      parts_.feed, feed.batch, feed.device);
}

std::unique_ptr<training::Inference> PictureCourse::inference(training::Split split) const {
  const std::vector<std::int64_t> axes = flipped_axes(task().predict);
  if (axes.empty()) return Course::inference(split);
  return std::make_unique<training::FlipInference>(axes, parts_.feed.whole);
}

at::Tensor PictureCourse::pictures(const training::Example& example) const {
  at::Tensor values = training::only(example.inputs, "input").to(at::kFloat);
  if (values.dim() == 3) values = values.unsqueeze(1);
  if (values.dim() != 4) return {};
  if (parts_.record.rank() == 0) {
    const ChannelStatistics& by = parts_.statistics;
    values = values * of_channels(by.std, values) + of_channels(by.mean, values);
  } else {
    values = values.mean(at::IntArrayRef{1}, /*keepdim=*/true);
    const at::Tensor least = values.amin({2, 3}, true);
    values = (values - least) / (values.amax({2, 3}, true) - least).clamp_min(1e-12);
    values = values.expand({-1, 3, -1, -1});
  }
  return (values * 255.0)
      .round()
      .clamp(0.0, 255.0)
      .to(at::kByte)
      .permute({0, 2, 3, 1})
      .contiguous();
}

}  // namespace headrace::inline v1::app
