#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/feed/process_memory.h>
#include <headrace/apps/jobs/run_identity.h>
#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/apps/train/confusion_torch.h>
#include <headrace/apps/train/recipe_run_torch.h>
#include <headrace/apps/train/trainer_callbacks_torch.h>
#include <headrace/apps/train/training_memory.h>
#include <headrace/training/vote.h>

#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// Side by side with the trainer's own threads: HDF5's, the memory watch, signals, LibTorch's.
constexpr int other_threads = 4;

std::map<std::string, double> by_name(const training::Figures& figures) {
  return {figures.begin(), figures.end()};
}

std::string shown_name(std::string name) {
  for (char& letter : name)
    if (letter == '-') letter = ' ';
  return name;
}

}  // namespace

RecipeRun::RecipeRun(const TrainingJob& job, const ChosenDevice& device,
                     std::unique_ptr<training::Recipe> recipe)
    : job_(job),
      device_(device),
      runtime_(runtime_options(job.config->threads)),
      recipe_(std::move(recipe)),
      data_(recipe_->plan()),
      members_(training::members_of(*recipe_)) {}

std::vector<std::int64_t> RecipeRun::members() const {
  if (const auto one = job_.config->training.member) return {member(*one).index};
  std::vector<std::int64_t> all;
  all.reserve(members_.size());
  for (const training::Member& member : members_)
    all.push_back(member.index);
  return all;
}

const training::Member& RecipeRun::member(std::int64_t index) const {
  for (const training::Member& member : members_)
    if (member.index == index) return member;
  throw ConfigError("[config] training.member must be below " + std::to_string(members_.size()) +
                    ", got " + std::to_string(index));
}

LoaderOptions RecipeRun::loader_options() const {
  LoaderOptions options = app::loader_options(job_.config->prefetch(), job_.config->threads);
  options.runtime = runtime_;
  return options;
}

monitor::MemoryForecast RecipeRun::forecast() const {
  const auto course = recipe_->begin(member(members().front()));
  const training::Stage stage = course->stages().front();
  monitor::MemoryForecast forecast = data_;
  add_loader_memory(forecast, "training",
                    course->train(stage, {.batch = stage.batch, .device = device_.device})
                        .build(loader_options()));
  if (course->evaluates(training::Split::validation))
    add_loader_memory(
        forecast, "evaluation",
        course
            ->evaluation(training::Split::validation,
                         {.batch = training::evaluation_batch(stage), .device = device_.device})
            .build(loader_options()));
  if (!device_.device.is_cuda())
    add_training_memory(forecast,
                        static_cast<std::uint64_t>(models::parameter_count(*course->network())),
                        course->step_bytes(stage));
  const int configured = job_.config->threads.torch;
  const int torch_threads = configured > 0 ? configured : headrace::usable_cores();
  add_process(forecast,
              runtime_.threads() + runtime_.io_threads() + 2 * torch_threads + other_threads);
  return forecast;
}

std::uint64_t RecipeRun::open() {
  return recipe_->open();
}

training::MemberOptions RecipeRun::member_options(const training::Member& member,
                                                  const std::filesystem::path& folder) const {
  return {.folder = folder / member.name,
          .device = torch_device(device_.device),
          .deliver_to = device_.device,
          .loaders = loader_options(),
          .seed = job_.config->seed,
          .checkpoint_every = job_.config->training.checkpoint_every,
          .identity = job_.identity,
          .notes = {{"job", job_.name},
                    {"configuration", job_.learnt},
                    {"configuration_hash", identity_hash(job_.identity)}}};
}

FoldOutcome RecipeRun::train(std::int64_t index, const std::filesystem::path& folder, RunView& view,
                             const monitor::MemoryWatch& memory, std::stop_token stop) {
  const training::Member& one = member(index);
  const training::MemberOptions options = member_options(one, folder);
  if (const std::optional<FoldOutcome> done = read_fold_outcome(options.folder)) return *done;

  training::MemberCallbacks callbacks{.trainer = trainer_callbacks(view, memory)};
  callbacks.on_stage = [&](const training::StageStart& start) {
    view.begin_fold({.fold = static_cast<int>(one.index),
                     .epochs = start.stage.epochs,
                     .samples_per_epoch = start.samples_per_epoch,
                     .stage = start.stages > 1 ? start.stage.name : std::string(),
                     .member = members_.size() > 1 ? shown_name(one.name) : std::string()},
                    start.train);
  };
  callbacks.on_stage_end = [&view] { view.end_fold(); };
  const training::MemberResult result =
      training::train_member(*recipe_, one, options, callbacks, std::move(stop));
  if (result.status == training::RunStatus::interrupted) return {.interrupted = true};
  const FoldOutcome outcome{.member = members_.size() > 1 ? shown_name(one.name) : std::string(),
                            .selected_by = result.selected_by,
                            .best_epoch = result.best_epoch,
                            .validation = by_name(result.validation),
                            .test = by_name(result.test),
                            .confusion = named(result.confusion, class_names(recipe_->notes()))};
  write_fold_outcome(options.folder, outcome);
  return outcome;
}

std::vector<FoldOutcome> RecipeRun::finished(const std::filesystem::path& folder) const {
  std::vector<FoldOutcome> outcomes;
  for (const training::Member& member : members_)
    if (std::optional<FoldOutcome> done = read_fold_outcome(folder / member.name))
      outcomes.push_back(std::move(*done));
  return outcomes;
}

std::optional<FoldOutcome> RecipeRun::vote(const std::filesystem::path& folder) const {
  if (members_.size() < 2 || finished(folder).size() < members_.size()) return std::nullopt;
  std::vector<training::MemberScores> scores;
  for (const training::Member& member : members_) {
    scores.push_back(training::read_member_scores(folder / member.name));
    scores.back().member = member.index;
  }
  const std::optional<training::Figures> test = training::vote_on_test(*recipe_, scores);
  if (!test) return std::nullopt;
  const auto course = recipe_->begin(members_.front());
  return FoldOutcome{.member = "all together",
                     .selected_by = course->selected_by().figure,
                     .test = by_name(*test)};
}

}  // namespace headrace::inline v1::app
