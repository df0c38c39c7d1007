#include <headrace/apps/run/data_log.h>
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
}

std::vector<std::string> Ensemble::class_names() const {
  return app::class_names(members_.front().weights.notes);
}

std::string Ensemble::votes() const {
  const std::string& all = members_.front().note("members");
  return all == "1" ? "" : ", " + std::to_string(members_.size()) + " of " + all + " votes";
}

Team Ensemble::ready(const std::vector<std::int64_t>& records) const {
  Team team;
  for (const Predictor& one : members_) {
    training::Member member = one.member;
    member.test = records;
    team.add(*recipe_, member, one.weights, device());
  }
  return team;
}

training::Feed Ensemble::feed(const Team& team) const {
  return {.batch = batch_ > 0 ? batch_ : training::evaluation_batch(team.course().stages().back()),
          .device = device_.device};
}

void Team::add(const training::Recipe& recipe, const training::Member& member,
               const training::BestWeights& weights, at::Device device) {
  courses_.push_back(recipe.begin(member));
  const training::Course& course = *courses_.back();
  networks_.push_back(course.network());
  models::Network& network = *networks_.back();
  training::load_weights(network, weights.weights);
  network.move_to(device, course.stages().back().channels_last);
  voters_.push_back(
      {.course = course, .network = network, .member = member.index, .fitted = weights.fitted});
}

std::vector<training::TensorMap> Team::fitted() const {
  std::vector<training::TensorMap> all;
  for (const training::Voter& voter : voters_)
    all.push_back(voter.fitted);
  return all;
}

training::EvaluationOptions Team::options(at::Device device) const {
  return {.split = training::Split::test,
          .device = device,
          .stage = course().stages().back(),
          .origins = true,
          .on_fewer_rows = [](std::int64_t, const std::string& warning) {
            log_data(headrace::LogLevel::warning, warning);
          }};
}

}  // namespace headrace::inline v1::app
