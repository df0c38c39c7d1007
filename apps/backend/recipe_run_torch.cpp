#include <headrace/apps/backend/confusion_torch.h>
#include <headrace/apps/backend/ensemble_torch.h>
#include <headrace/apps/backend/gallery_torch.h>
#include <headrace/apps/backend/recipe_notes.h>
#include <headrace/apps/backend/recipe_run_torch.h>
#include <headrace/apps/backend/smoke_torch.h>
#include <headrace/apps/backend/trainer_callbacks_torch.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/feed/process_forecast.h>
#include <headrace/apps/figures/vote_table.h>
#include <headrace/apps/job/run_identity.h>
#include <headrace/apps/learn/placed_records_torch.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/view/live_run.h>
#include <headrace/monitor/format.h>

#include <algorithm>
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
      held_(recipe_->plan()),
      members_(training::members_of(*recipe_)),
      phases_(job, device.device) {
  const int configured = job.config->threads.torch;
  const int torch_threads = configured > 0 ? configured : headrace::usable_cores();
  add_process(held_,
              runtime_.threads() + runtime_.io_threads() + 2 * torch_threads + other_threads);
}

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

std::uint64_t RecipeRun::open() {
  return recipe_->open();
}

training::MemberOptions RecipeRun::member_options(const training::Member& member,
                                                  const std::filesystem::path& folder) const {
  return {.folder = folder / member.name,
          .device = torch_device(device_.device),
          .deliver_to = device_.device,
          .loaders = loader_options(),
          .bad_samples = job_.config->bad_samples.in_training(bad_samples_log(folder)),
          .unread = unread_records(bad_samples_log(folder)),
          .seed = job_.config->seed,
          .checkpoint_every = job_.config->training.checkpoint_every,
          .trial_steps = trial_steps(),
          .identity = job_.identity,
          .defaults = job_.defaults,
          .notes = {{"job", job_.name},
                    {"configuration", job_.learnt},
                    {"configuration_hash", identity_hash(job_.identity)}}};
}

// In the run's folder, beside that of the checkpoints; a trial has none.
std::filesystem::path RecipeRun::bad_samples_log(const std::filesystem::path& checkpoints) const {
  return trial_ != nullptr ? std::filesystem::path()
                           : checkpoints.parent_path() / "bad_samples.jsonl";
}

void RecipeRun::keep_records(const training::Member& member,
                             const std::filesystem::path& folder) const {
  const auto* records = dynamic_cast<const PlacedRecords*>(recipe_.get());
  if (records == nullptr || trial_ != nullptr) return;
  const std::filesystem::path file = folder / known_records_file;
  if (std::filesystem::exists(file)) return;
  KnownRecords known;
  known.add(records->placed(training::Split::train, member.train), RecordUse::learnt);
  known.add(records->placed(training::Split::validation, member.validation), RecordUse::chose);
  make_folder("run", folder);
  known.write(file);
}

FoldOutcome RecipeRun::train(std::int64_t index, const std::filesystem::path& folder, RunView& view,
                             const monitor::MemoryWatch& memory, std::stop_token stop) {
  const training::Member& one = member(index);
  const training::MemberOptions options = member_options(one, folder);
  if (const std::optional<FoldOutcome> done = read_fold_outcome(options.folder)) return *done;
  keep_records(one, options.folder);

  const std::vector<std::string> classes = class_names(*recipe_->begin(one), recipe_->notes());
  training::MemberCallbacks callbacks{.trainer = trainer_callbacks(view, memory, classes)};
  callbacks.on_stage = [&](const training::StageStart& start) {
    view.begin_fold({.fold = static_cast<int>(one.index),
                     .epochs = start.stage.epochs,
                     .samples_per_epoch = start.samples_per_epoch,
                     .stage = start.stages > 1 ? start.stage.name : std::string(),
                     .stage_number = start.stage.number,
                     .member = members_.size() > 1 ? shown_name(one.name) : std::string(),
                     .folder = one.name},
                    start.train);
  };
  callbacks.on_stage_end = [&view] { view.end_fold(); };
  callbacks.on_stage_lost = [&view] { view.live().end_fold(); };
  tell_phases(phases_, view, callbacks);
  if (trial_ != nullptr)
    also_tell(*trial_, callbacks, members_.size() > 1 ? shown_name(one.name) : std::string());
  const training::MemberResult result =
      training::train_member(*recipe_, one, options, callbacks, std::move(stop));
  if (result.status == training::RunStatus::interrupted) return {.interrupted = true};
  FoldOutcome outcome{.member = members_.size() > 1 ? shown_name(one.name) : std::string(),
                      .selected_by = result.selected_by,
                      .best_epoch = result.best_epoch,
                      .validation = by_name(result.validation),
                      .test = by_name(result.test),
                      .confusion = named(result.confusion, classes)};
  if (!result.refused.empty()) outcome.refused = result.refused;
  if (!result.unread.empty()) outcome.unread = result.unread;
  if (!result.unread_validation.empty()) outcome.unread_validation = result.unread_validation;
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

std::vector<training::Member> RecipeRun::done_members(const std::filesystem::path& folder) const {
  std::vector<training::Member> done;
  for (const training::Member& member : members_)
    if (const auto outcome = read_fold_outcome(folder / member.name); outcome && !outcome->refused)
      done.push_back(member);
  return done;
}

std::vector<training::VoteFigures> RecipeRun::vote_of_kept_scores(
    const std::filesystem::path& folder) const {
  std::vector<training::MemberScores> scores;
  for (const training::Member& member : members_) {
    scores.push_back(training::read_member_scores(folder / member.name));
    scores.back().member = member.index;
  }
  return training::vote_on_test(*recipe_, scores);
}

// By the figure that selects a member's weights; where a vote has none of that name by its first.
std::vector<FoldOutcome> RecipeRun::outcomes_of(const std::vector<training::VoteFigures>& votes,
                                                const std::optional<std::string>& unread) const {
  std::vector<FoldOutcome> outcomes;
  if (votes.empty()) return outcomes;
  std::string by = recipe_->begin(members_.front())->selected_by().figure;
  const training::Figures& deciding = votes.front().figures;
  if (!by_name(deciding).contains(by) && !deciding.empty()) by = deciding.front().first;
  for (const training::VoteFigures& vote : votes) {
    outcomes.push_back({.member = vote_member(vote.name),
                        .selected_by = by,
                        .test = by_name(vote.figures),
                        .confusion = named(vote.confusion, class_names(recipe_->notes())),
                        .unread = unread});
    if (vote.nan > 0)
      outcomes.back().refused =
          "test: the vote gives NaN for " + std::to_string(vote.nan) + " records";
  }
  return outcomes;
}

std::optional<TestReview> RecipeRun::review(const std::filesystem::path& folder,
                                            std::stop_token stop) const {
  TestReview review;
  std::vector<training::Member> done = done_members(folder);
  if (done.empty()) return review;
  const auto records = recipe_->common_test(done);
  if (!records) return review;
  const bool all = members_.size() > 1 && done.size() == members_.size();
  // Those that were kept are of each member's own test.
  const bool kept = std::ranges::all_of(
      done, [&](const training::Member& member) { return member.test == *records; });
  std::vector<training::VoteFigures> votes;
  std::optional<std::string> unread;
  if (all && kept) votes = vote_of_kept_scores(folder);
  for (training::Member& member : done)
    member.test = *records;
  const auto course = recipe_->begin(done.front());
  const bool wanted = course->shows_pictures() || (all && votes.empty());
  if (wanted && course->evaluates(training::Split::test)) {
    review.left_out = lack_for(done, folder);
    auto seen = review.left_out.empty() ? look_at_test(done, folder, std::move(stop)) : Seen{};
    if (!seen) return std::nullopt;
    review.gallery = std::move(seen->gallery);
    unread = seen->unread;
    if (all && votes.empty()) votes = std::move(seen->votes);
  }
  review.votes = outcomes_of(votes, unread);
  return review;
}

std::string RecipeRun::lack_for(const std::vector<training::Member>& done,
                                const std::filesystem::path& folder) const {
  std::uint64_t largest = 0;  // of a file while it is read
  std::uint64_t all = 0;
  for (const training::Member& member : done) {
    const auto bytes = std::filesystem::file_size(folder / member.name / "best.safetensors");
    largest = std::max<std::uint64_t>(largest, bytes);
    all += bytes;
  }
  const std::uint64_t room = room_now();
  if (all + largest <= room) return {};
  const bool one = done.size() == 1;
  return "[memory] to look at the test with the networks of " +
         (one ? std::string("one member") : std::to_string(done.size()) + " members") + " takes " +
         monitor::format_bytes(all + largest) + ", " + monitor::format_bytes(room) +
         " are left: worst.png and what needs all of them at once are left out; `headrace "
         "evaluate` makes them where there is more memory";
}

std::optional<RecipeRun::Seen> RecipeRun::look_at_test(const std::vector<training::Member>& done,
                                                       const std::filesystem::path& folder,
                                                       std::stop_token stop) const {
  const at::Device device = torch_device(device_.device);
  Team team;
  for (const training::Member& member : done)
    team.add(*recipe_, member,
             training::read_best_weights(folder / member.name / "best.safetensors"), device);
  training::EvaluationOptions pass = team.options(device);
  pass.batches = trial_steps();
  Loader loader =
      team.course()
          .evaluation(training::Split::test,
                      {.batch = training::evaluation_batch(pass.stage), .device = device_.device})
          .named("test")
          .on_bad_sample(unread_records(bad_samples_log(folder)))
          .build(loader_options());
  GalleryKeeper gallery(
      *recipe_, team.course(), team.fitted(),
      {.classes = class_names(recipe_->notes()), .records = loader.samples_per_epoch()});
  if (team.course().shows_pictures())
    pass.on_cases = [&](const training::Cases& cases) { gallery.add(cases); };
  auto evaluation =
      training::evaluate_together(*recipe_, team.voters(), loader, pass, std::move(stop));
  if (!evaluation) return std::nullopt;
  if (trial_ != nullptr)
    trial_->on_once(
        {.what = "look back at the test", .seconds = evaluation->members.front().full_seconds});
  const training::Evaluation& one = evaluation->members.front();
  Seen seen{.votes = std::move(evaluation->votes), .gallery = gallery.result()};
  if (one.unread.cases > 0) seen.unread = one.unread.words(one.samples);
  return seen;
}

}  // namespace headrace::inline v1::app
