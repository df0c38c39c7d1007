#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/learn/task_course_torch.h>

#include <string>

namespace headrace::inline v1::app {

std::vector<training::Stage> TaskCourse::stages() const {
  return stages_of(*common_.config);
}

const TaskConfig& TaskCourse::of_stage(const training::Stage& stage) const {
  return dynamic_cast<const TaskConfig&>(common_.config->of_stage(stage.number));
}

std::unique_ptr<models::Network> TaskCourse::network() const {
  return make_task_network(of_stage(training::Stage{}).task.model, shape(), common_.trains);
}

void TaskCourse::try_network(models::Network& network, at::Device device) const {
  try_task_network(common_.config->task.model, shape(), network, device);
}

std::vector<training::Term> TaskCourse::loss(const training::Output& output,
                                             const training::Example& example,
                                             const training::Moment& moment) const {
  LossContext context = common_.loss;
  context.epoch = moment.epoch;
  context.step = moment.step;
  return loss_terms(of_stage(moment.stage).task.loss, output, example, context);
}

training::Selection TaskCourse::selected_by() const {
  const std::string& figure = common_.config->task.selected_by;
  return {.figure = figure,
          .goal = figure == "loss" ? training::Goal::minimum : training::Goal::maximum};
}

}  // namespace headrace::inline v1::app
