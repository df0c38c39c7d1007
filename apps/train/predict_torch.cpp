#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/apps/train/predict_torch.h>
#include <headrace/apps/train/prediction_csv.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/training/best_weights.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/evaluation.h>
#include <headrace/training/vote.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>

namespace headrace::inline v1::app {
namespace {

DeviceChoice device_choice(const std::string& word) {
  if (word == "cuda") return DeviceChoice::cuda;
  return word == "cpu" ? DeviceChoice::cpu : DeviceChoice::automatic;
}

namespace fs = std::filesystem;

constexpr const char* best_file = "best.safetensors";

// The files that a path stands for: itself, or of a run or a member of one those of its best
// weights.
std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  if (fs::exists(path / best_file)) return {path / best_file};
  const fs::path members = fs::is_directory(path / "checkpoints") ? path / "checkpoints" : path;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(members))
    if (fs::exists(entry.path() / best_file) && fs::exists(entry.path() / "result.json"))
      files.push_back(entry.path() / best_file);
  std::ranges::sort(files);
  if (files.empty())
    throw training::CheckpointError(
        "[predict] " + path.string() + ": must hold a " + best_file +
        ", or folders of members that are done, has none; name the file of one that is not");
  return files;
}

// What predicts: the weights of a member of a run.
struct Predictor {
  training::BestWeights weights;
  training::Member member;
};

std::string note(const Predictor& one, const fs::path& file, const char* name) {
  const auto found = one.weights.notes.find(name);
  if (found != one.weights.notes.end()) return found->second;
  throw training::CheckpointError("[predict] " + file.string() + ": must have the note \"" + name +
                                  "\", has not; take a file that headrace train has written");
}

// Notes that are the same in all members of a run.
std::map<std::string, std::string> of_all_members(const Predictor& one) {
  std::map<std::string, std::string> notes = one.weights.notes;
  notes.erase("member");
  notes.erase("member_index");
  return notes;
}

std::vector<Predictor> read_predictors(const std::vector<fs::path>& files) {
  std::vector<Predictor> all;
  all.reserve(files.size());
  for (const fs::path& file : files) {
    Predictor one{.weights = training::read_best_weights(file), .member = {}};
    one.member.name = note(one, file, "member");
    one.member.index = std::stoll(note(one, file, "member_index"));
    if (!all.empty() && of_all_members(one) != of_all_members(all.front()))
      throw training::CheckpointError("[predict] " + file.string() +
                                      ": weights that vote must be of one run, these were trained "
                                      "with another configuration or data than those of " +
                                      files.front().string());
    all.push_back(std::move(one));
  }
  const auto number = [](const Predictor& one) { return one.member.index; };
  std::ranges::sort(all, {}, number);
  const auto twice = std::ranges::adjacent_find(all, {}, number);
  if (twice != all.end())
    throw training::CheckpointError("[predict] each member must vote once, " + twice->member.name +
                                    " is there twice; name each file, or the run's folder");
  return all;
}

class PredictCommand {
 public:
  PredictCommand(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe)
      : options_(options),
        device_(choose_device(device_choice(options.device))),
        files_(all_files(options)),
        predictors_(read_predictors(files_)),
        job_(read_training_text(jobs, note(predictors_.front(), files_.front(), "configuration"),
                                files_.front().string() + " (configuration)")),
        recipe_(make_recipe(job_.name, *job_.config, device_.device)) {
    recipe_->recall(predictors_.front().weights.notes);
    for (const Predictor& one : predictors_)
      fitted_.push_back(one.weights.fitted);
  }

  ExitCode run() {
    if (predictors_.size() == 1)
      predict(predictors_.front(), [this](const training::Cases& cases) {
        training::Cases one{.scores = cases.scores, .member = predictors_.front().member.index};
        require(one);
        add(recipe_->vote({&one, 1}).scores);
      });
    else
      vote();
    if (!csv_)
      throw DataError("[predict] " + options_.data.string() + " must hold samples, got none");
    write_file_atomically(options_.output, csv_->text());
    const std::string members = note(predictors_.front(), files_.front(), "members");
    const std::string voters =
        members == "1" ? ""
                       : ", " + std::to_string(predictors_.size()) + " of " + members + " votes";
    std::fprintf(stderr, "predict: %lld samples%s, %s\n", static_cast<long long>(csv_->rows()),
                 voters.c_str(), options_.output.c_str());
    return ExitCode::done;
  }

 private:
  static std::vector<fs::path> all_files(const PredictOptions& options) {
    std::vector<fs::path> all;
    for (const fs::path& path : options.checkpoints)
      std::ranges::move(files_of(path), std::back_inserter(all));
    return all;
  }

  void predict(const Predictor& one, const std::function<void(const training::Cases&)>& look) {
    const at::Device target = torch_device(device_.device);
    const auto course = recipe_->begin(one.member);
    const training::Stage stage = course->stages().back();
    const auto network = course->network();
    training::load_weights(*network, one.weights.weights);
    network->move_to(target, stage.channels_last);
    const std::int64_t batch =
        options_.batch > 0 ? options_.batch : training::evaluation_batch(stage);
    Loader loader =
        recipe_->prediction(options_.data, {.batch = batch, .device = device_.device}).build();
    training::predict(
        *course, *network, loader,
        {.device = target, .stage = stage, .fitted = one.weights.fitted, .on_cases = look});
  }

  void vote() {
    std::vector<training::Cases> of_members;
    for (const Predictor& one : predictors_) {
      training::ScoreKeeper keeper;
      predict(one, [&](const training::Cases& cases) {
        require(cases);
        keeper.add(cases);
      });
      of_members.push_back({.scores = keeper.result().scores, .member = one.member.index});
      if (!of_members.back().scores.defined()) return;  // no samples
    }
    add(recipe_->vote(of_members).scores);
  }

  // A row of the file is a case and its classes.
  void require(const training::Cases& cases) {
    if (cases.scores.defined() && cases.scores.dim() == 2 &&
        (classes_ == 0 || cases.scores.size(1) == classes_)) {
      classes_ = cases.scores.size(1);
      return;
    }
    throw ConfigError("[predict] scores of the kind " + job_.name +
                      " must be [cases, classes] to be written as rows, got " +
                      (cases.scores.defined() ? std::to_string(cases.scores.dim()) + " axes"
                                              : std::string("none")));
  }

  void add(const at::Tensor& scores) {
    const at::Tensor rows = scores.to(at::kCPU, at::kFloat).contiguous();
    const at::Tensor predicted =
        recipe_->predicted(scores, fitted_).to(at::kCPU, at::kLong).contiguous();
    if (rows.dim() != 2 || predicted.dim() != 1 || predicted.size(0) != rows.size(0))
      throw ConfigError("[predict] the kind " + job_.name +
                        " must predict one class for each row of its scores");
    if (!csv_) csv_.emplace(static_cast<int>(rows.size(1)));
    csv_->add(
        {rows.const_data_ptr<float>(), static_cast<std::size_t>(rows.numel())},
        {predicted.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(predicted.numel())});
  }

  const PredictOptions& options_;
  ChosenDevice device_;
  std::vector<fs::path> files_;
  std::vector<Predictor> predictors_;
  TrainingJob job_;
  std::unique_ptr<training::Recipe> recipe_;
  std::vector<training::TensorMap> fitted_;
  std::optional<PredictionCsv> csv_;
  std::int64_t classes_ = 0;
};

}  // namespace

ExitCode predict(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe) {
  at::set_num_threads(headrace::usable_cores());
  return PredictCommand(options, jobs, make_recipe).run();
}

}  // namespace headrace::inline v1::app
