#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/apps/train/confusion_torch.h>
#include <headrace/apps/train/ensemble_torch.h>

#include <utility>

#include <ATen/Parallel.h>

namespace headrace::inline v1::app {
namespace {

DeviceChoice device_choice(const std::string& word) {
  if (word == "cuda") return DeviceChoice::cuda;
  return word == "cpu" ? DeviceChoice::cpu : DeviceChoice::automatic;
}

TrainingJob job_of(const Predictor& one, const std::vector<Job>& jobs) {
  return read_training_text(jobs, one.note("configuration"),
                            one.file.string() + " (configuration)");
}

}  // namespace

Ensemble::Ensemble(const EnsembleOptions& options, const std::vector<Job>& jobs,
                   const MakeRecipe& make_recipe)
    : batch_(options.batch),
      device_(choose_device(device_choice(options.device))),
      members_(read_predictors(options.checkpoints)),
      job_(job_of(members_.front(), jobs)),
      recipe_(make_recipe(job_.name, *job_.config, device_.device)) {
  at::set_num_threads(headrace::usable_cores());
  recipe_->recall(members_.front().weights.notes);
  for (const Predictor& one : members_)
    fitted_.push_back(one.weights.fitted);
}

std::vector<std::string> Ensemble::class_names() const {
  return app::class_names(members_.front().weights.notes);
}

std::string Ensemble::votes() const {
  const std::string& all = members_.front().note("members");
  return all == "1" ? "" : ", " + std::to_string(members_.size()) + " of " + all + " votes";
}

ReadyMember Ensemble::ready(const Predictor& one, std::vector<std::int64_t> records) const {
  training::Member member = one.member;
  member.test = std::move(records);
  ReadyMember ready{.course = recipe_->begin(member)};
  const training::Stage stage = ready.course->stages().back();
  ready.network = ready.course->network();
  training::load_weights(*ready.network, one.weights.weights);
  ready.options = {.split = training::Split::test,
                   .device = torch_device(device_.device),
                   .stage = stage,
                   .fitted = one.weights.fitted,
                   .origins = true};
  ready.network->move_to(ready.options.device, stage.channels_last);
  ready.feed = {.batch = batch_ > 0 ? batch_ : training::evaluation_batch(stage),
                .device = device_.device};
  return ready;
}

}  // namespace headrace::inline v1::app
