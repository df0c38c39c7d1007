#include <headrace/apps/jobs/picture_course_torch.h>
#include <headrace/apps/jobs/stage_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/sample/subset.h>

#include <cmath>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::shared_ptr<const Source> rows_of(std::shared_ptr<const Source> source,
                                      const std::vector<std::int64_t>& rows) {
  return std::make_shared<const Subset>(std::move(source), rows);
}

}  // namespace

NetworkShape PictureCourse::shape() const {
  return {.outputs = parts_.outputs, .side = task().image.decode.side};
}

std::vector<training::Stage> PictureCourse::stages() const {
  training::Stage stage = stage_of(parts_.config->training);
  stage.frozen = task().model.frozen;
  return {stage};
}

std::unique_ptr<models::Network> PictureCourse::network() const {
  return make_task_network(task().model, shape(), parts_.trains);
}

Pipeline PictureCourse::train(const training::Stage& stage, const training::Feed& feed) const {
  const auto& rows = parts_.member.train;
  return training_pipeline(rows_of(parts_.records.train, rows),
                           labels_at(*parts_.records.train, rows), parts_.feed, stage.batch,
                           feed.device);
}

bool PictureCourse::evaluates(training::Split split) const {
  return !(split == training::Split::test ? parts_.member.test : parts_.member.validation).empty();
}

Pipeline PictureCourse::evaluation(training::Split split, const training::Feed& feed) const {
  const bool test = split == training::Split::test;
  return evaluation_pipeline(rows_of(test ? parts_.records.test : parts_.records.validation,
                                     test ? parts_.member.test : parts_.member.validation),
                             parts_.feed, feed.batch, feed.device);
}

std::vector<training::Term> PictureCourse::loss(const training::Output& output,
                                                const training::Example& example,
                                                const training::Moment&) const {
  return loss_terms(task().loss, output, example, parts_.loss);
}

std::unique_ptr<training::Inference> PictureCourse::inference() const {
  const std::vector<std::int64_t> axes = flipped_axes(task().predict);
  if (axes.empty()) return Course::inference();
  return std::make_unique<training::FlipInference>(axes, parts_.feed.whole);
}

training::Selection PictureCourse::selected_by() const {
  const std::string& figure = task().selected_by;
  return {.figure = figure,
          .goal = figure == "loss" ? training::Goal::minimum : training::Goal::maximum};
}

std::uint64_t PictureCourse::step_bytes(const training::Stage& stage) const {
  const models::Activations floats = traits_of(task().model, shape()).activations;
  const std::int64_t side = task().image.decode.side;
  return step_memory(stage, side * side, static_cast<std::uint64_t>(std::ceil(floats.training)),
                     static_cast<std::uint64_t>(std::ceil(floats.evaluation)));
}

}  // namespace headrace::inline v1::app
