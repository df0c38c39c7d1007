#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/apps/backend/confusion_torch.h>
#include <headrace/apps/backend/ensemble_torch.h>
#include <headrace/apps/backend/recipe_notes.h>
#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <map>
#include <optional>

#include <ATen/Parallel.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* best_file = "best.safetensors";

// The files that a path stands for: itself, or of a run or a member of one those of its best
// weights.
std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  if (fs::exists(path / best_file)) return {path / best_file};
  const fs::path members = fs::is_directory(path / "checkpoints") ? path / "checkpoints" : path;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(members)) {
    const std::optional<FoldOutcome> outcome = read_fold_outcome(entry.path());
    if (outcome && outcome->refused)
      throw training::NumericError("[weights] " + entry.path().string() + ": is refused, " +
                                   *outcome->refused + "; name the " + best_file +
                                   " of the others, or train it anew");
    if (outcome && fs::exists(entry.path() / best_file)) files.push_back(entry.path() / best_file);
  }
  std::ranges::sort(files);
  if (files.empty())
    throw training::CheckpointError(
        "[weights] " + path.string() + ": must hold a " + best_file +
        ", or folders of members that are done, has none; name the file of one that is not");
  return files;
}

Predictor read_predictor(const fs::path& file) {
  Predictor one{.file = file, .weights = training::read_best_weights(file)};
  one.member.name = one.note("member");
  one.member.index = std::stoll(one.note("member_index"));
  return one;
}

// Notes that are the same in all members of a run.
std::map<std::string, std::string> of_all_members(const Predictor& one) {
  std::map<std::string, std::string> notes = one.weights.notes;
  notes.erase("member");
  notes.erase("member_index");
  return notes;
}

}  // namespace

const std::string& Predictor::note(const std::string& name) const {
  const auto found = weights.notes.find(name);
  if (found != weights.notes.end()) return found->second;
  throw training::CheckpointError("[weights] " + file.string() + ": must have the note \"" + name +
                                  "\", has not; take a file that headrace train has written");
}

std::vector<Predictor> read_predictors(const std::vector<fs::path>& paths) {
  std::vector<Predictor> all;
  for (const fs::path& path : paths)
    for (const fs::path& file : files_of(path)) {
      all.push_back(read_predictor(file));
      if (of_all_members(all.back()) != of_all_members(all.front()))
        throw training::CheckpointError(
            "[weights] " + file.string() +
            ": weights that vote must be of one run, these were trained "
            "with another configuration or data than those of " +
            all.front().file.string());
    }
  const auto number = [](const Predictor& one) { return one.member.index; };
  std::ranges::sort(all, {}, number);
  const auto twice = std::ranges::adjacent_find(all, {}, number);
  if (twice != all.end())
    throw training::CheckpointError("[weights] each member must vote once, " + twice->member.name +
                                    " is there twice; name each file, or the run's folder");
  return all;
}

namespace {

DeviceChoice device_choice(const std::string& word) {
  if (word == "cuda") return DeviceChoice::cuda;
  return word == "cpu" ? DeviceChoice::cpu : DeviceChoice::automatic;
}

TrainingJob job_of(const Predictor& one, const std::vector<Job>& jobs) {
  // Nothing is learnt: a schedule that a later release refuses to train by is of no matter.
  TrainingJob job =
      read_training_text(jobs, one.note("configuration"), one.file.string() + " (configuration)",
                         {"training.schedule=constant"});
  std::const_pointer_cast<JobConfig>(job.config)->goes_on = true;
  return job;
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

Team Ensemble::ready_on_own_test(std::vector<std::int64_t>& records) {
  recipe_->plan();
  const auto& then = members_.front().weights.notes;
  for (const auto& [name, now] : recipe_->notes())
    if (const auto found = then.find(name); found == then.end() || found->second != now)
      throw DataError("[evaluate] the run's data must be those it was trained on, but \"" + name +
                      "\" was " + (found == then.end() ? "not there" : found->second) + ", is " +
                      now + "; name the data to judge (--data)");
  const std::vector<training::Member> all = training::members_of(*recipe_);
  std::vector<training::Member> own;
  for (const Predictor& one : members_)
    own.push_back(all.at(static_cast<std::size_t>(one.member.index)));
  const auto common = recipe_->common_test(own);
  if (!common)
    throw ConfigError(
        "[evaluate] the members of the run have tests of their own; name one's folder "
        "(checkpoints/" +
        own.front().name + "), or the data to judge (--data)");
  recipe_->open();
  records = *common;
  Team team;
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i].test = *common;
    team.add(*recipe_, own[i], members_[i].weights, device());
  }
  if (!team.course().evaluates(training::Split::test))
    throw ConfigError("[evaluate] the run has set no test apart; name the data to judge (--data)");
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
