#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/training/errors.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/member_run.h>
#include <headrace/training/stage/stage_checks.h>

#include <array>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/Context.h>

namespace headrace::inline v1::training {

namespace {

// Which records a member has, in so many letters; nothing where the recipe divides none.
std::string rows_word(const Member& member) {
  if (member.train.empty() && member.validation.empty() && member.test.empty()) return {};
  std::string all;
  for (const auto* rows : {&member.train, &member.validation, &member.test}) {
    for (const std::int64_t row : *rows)
      all += std::to_string(row) + ' ';
    all += '|';
  }
  std::array<char, 32> word{};
  std::snprintf(word.data(), word.size(), ", rows %016llx",
                static_cast<unsigned long long>(hash_name(all)));
  return word.data();
}

class MemberRun {
 public:
  MemberRun(const Recipe& recipe, const Member& member, const MemberOptions& options,
            const MemberCallbacks& callbacks)
      : recipe_(recipe),
        member_(member),
        options_(options),
        callbacks_(callbacks),
        course_(recipe.begin(member)),
        stages_(course_->stages()),
        store_(options.folder, {.warn = callbacks.trainer.on_warning}) {
    if (stages_.empty()) throw ConfigError("[recipe] " + member.name + " must have a stage");
    for (std::size_t number = 0; number < stages_.size(); ++number)
      stages_[number].number = static_cast<std::int64_t>(number);
  }

  MemberResult run(const std::stop_token& stop) {
    at::manual_seed(options_.seed + static_cast<std::uint64_t>(member_.index));
    network_ = course_->network();
    network_->move_to(options_.device, stages_.front().channels_last);
    check_stages(*course_, stages_, *network_);
    std::optional<Checkpoint> last = store_.load_latest();
    const auto first = static_cast<std::size_t>(last ? last->progress.stage : 0);
    if (first >= stages_.size())
      throw CheckpointError("[checkpoint] " + store_.folder().string() + " must be of one of " +
                            std::to_string(stages_.size()) + " stages, got stage " +
                            std::to_string(first));
    RunResult result;
    for (std::size_t number = first; number < stages_.size(); ++number) {
      result = run_stage(number, last, stop);
      if (result.status == RunStatus::interrupted) return {.status = result.status};
      last.reset();
    }
    return judge(result, stop);
  }

 private:
  Loader build(Pipeline pipeline, const BadSamples& rule) const {
    return std::move(pipeline).on_bad_sample(rule).build(options_.loaders);
  }

  std::optional<Loader> evaluation_loader(Split split, const Stage& stage) const {
    if (!course_->evaluates(split)) return std::nullopt;
    Pipeline records = course_->evaluation(
        split, {.batch = evaluation_batch(stage), .device = options_.deliver_to});
    return build(std::move(records).named(split == Split::test ? "test" : "validation"),
                 options_.unread);
  }

  void start_from_best(std::size_t number) {
    const auto before = static_cast<std::int64_t>(number) - 1;
    if (std::filesystem::exists(store_.best_path())) {
      const BestWeights best = read_best_weights(store_.best_path());
      if (best.stage == before) return load_weights(*network_, best.weights);
    }
    throw NumericError("[stage " + stages_[number].name +
                       "] start: the stage before must have weights that were judged, but none of "
                       "its evaluations had a number for " +
                       course_->selected_by().figure +
                       "; see the warnings of its epochs, or start from its last");
  }

  RunResult run_trainer(Trainer& trainer, const std::stop_token& stop) const {
    try {
      return trainer.run(stop);
    } catch (...) {
      if (callbacks_.on_stage_lost) callbacks_.on_stage_lost();
      throw;
    }
  }

  RunResult run_stage(std::size_t number, const std::optional<Checkpoint>& last,
                      const std::stop_token& stop) {
    const Stage& stage = stages_[number];
    set_device_modes({.precision = stage.precision,
                      .cudnn_benchmark = stage.cudnn_benchmark,
                      .deterministic = stage.deterministic});
    network_->freeze_norms(stage.frozen_norms);
    network_->checkpoint(stage.checkpointed);
    if (number > 0 && !last && stage.start == StartFrom::best) start_from_best(number);
    Loader train =
        build(course_->train(stage, {.batch = stage.batch, .device = options_.deliver_to}),
              options_.bad_samples);
    std::optional<Loader> validation = evaluation_loader(Split::validation, stage);
    Optimizer optimizer(parameter_groups(stage, network_->parameters()), stage.optimizer);
    if (stage.keep_moments && !last) optimizer.adopt_state(std::exchange(moments_, {}));
    Trainer trainer({.course = *course_,
                     .stage = stage,
                     .network = *network_,
                     .optimizer = optimizer,
                     .train = train,
                     .validation = validation ? &*validation : nullptr,
                     .checkpoints = &store_},
                    trainer_options(number, train), callbacks_.trainer);
    if (last) trainer.restore(*last);
    if (callbacks_.on_stage)
      callbacks_.on_stage({.member = member_,
                           .stage = stage,
                           .number = static_cast<std::int64_t>(number),
                           .stages = static_cast<std::int64_t>(stages_.size()),
                           .samples_per_epoch = train.samples_per_epoch(),
                           .train = train});
    const RunResult result = run_trainer(trainer, stop);
    const bool last_stage = number + 1 == stages_.size();
    if (last_stage && result.status != RunStatus::interrupted && trainer.average() != nullptr)
      trainer.average()->swap();  // what is kept where no evaluation has selected any
    if (!last_stage && stages_[number + 1].keep_moments) moments_ = optimizer.state();
    if (callbacks_.on_stage_end) callbacks_.on_stage_end();
    return result;
  }

  TrainerOptions trainer_options(std::size_t number, const Loader& train) const {
    const std::map<std::string, std::string> of_recipe = recipe_.notes();
    TrainerOptions options{.device = options_.device,
                           .seed = options_.seed + static_cast<std::uint64_t>(member_.index),
                           .stage = static_cast<std::int64_t>(number),
                           .checkpoint_every = options_.checkpoint_every,
                           .failed_saves = options_.failed_saves,
                           .trial_steps = options_.trial_steps,
                           .identity = options_.identity,
                           .defaults = options_.defaults,
                           .notes = notes()};
    const Selection selection = course_->selected_by();
    options.identity["seed"] = std::to_string(options_.seed);
    options.identity["selected_by"] =
        selection.figure + (selection.goal == Goal::maximum ? ", largest" : ", smallest");
    options.identity["member"] = member_.name;
    options.identity["records"] = std::to_string(train.samples_per_epoch()) + rows_word(member_);
    if (std::string data = recipe_.records_word(); !data.empty()) {
      options.identity["data"] = std::move(data);
      options.defaults.insert("data");
    }
    const std::map<std::string, std::string> usual = identity_of(Stage());
    for (const auto& [name, value] : identity_of(stages_[number])) {
      options.identity[name] = value;
      if (value == usual.at(name)) options.defaults.insert(name);
    }
    for (const auto& [name, value] : of_recipe)
      options.identity["notes." + name] = value;
    return options;
  }

  std::map<std::string, std::string> notes() const {
    std::map<std::string, std::string> notes = recipe_.notes();
    notes.insert(options_.notes.begin(), options_.notes.end());
    notes["member"] = member_.name;
    notes["member_index"] = std::to_string(member_.index);
    notes["members"] = std::to_string(recipe_.members().size());
    return notes;
  }

  // What the validation has fitted; loads the weights that it has selected, or refuses the member.
  TensorMap take_best(MemberResult& result) {
    if (!std::filesystem::exists(store_.best_path())) {
      if (course_->evaluates(Split::validation)) {
        result.refused = "no evaluation had a number for " + result.selected_by +
                         ", by which weights are selected: none are kept as the best; see the "
                         "warnings of its epochs";
        return {};
      }
      store_.save_best({.weights = snapshot(*network_),
                        .stage = static_cast<std::int64_t>(stages_.size()) - 1,
                        .epoch = stages_.back().epochs - 1,
                        .notes = notes()});
      return {};
    }
    BestWeights best = read_best_weights(store_.best_path());
    load_weights(*network_, best.weights);
    if (best.selected_by.empty()) return {};
    if (best.stage + 1 < static_cast<std::int64_t>(stages_.size()))
      warn("no evaluation of " + member_.name +
           "'s last stage could be judged; its weights are of " +
           stages_[static_cast<std::size_t>(best.stage)].name);
    result.best_epoch = best.epoch;
    result.validation = std::move(best.validation);
    result.unread_validation = std::move(best.unread);
    return std::move(best.fitted);
  }

  void warn(const std::string& sentence) const {
    if (callbacks_.trainer.on_warning) callbacks_.trainer.on_warning("[recipe] " + sentence);
  }

  MemberResult judge(const RunResult& run, const std::stop_token& stop) {
    MemberResult result{.status = run.status, .selected_by = course_->selected_by().figure};
    TensorMap fitted = take_best(result);
    if (!result.refused.empty()) return result;
    std::optional<Loader> test = evaluation_loader(Split::test, stages_.back());
    if (!test) return result;
    const bool votes = recipe_.members().size() > 1;
    ScoreKeeper keeper;
    const auto evaluation =
        evaluate(*course_, *network_, *test,
                 {.split = Split::test,
                  .device = options_.device,
                  .stage = stages_.back(),
                  .seed = options_.seed + static_cast<std::uint64_t>(member_.index),
                  .epoch = run.progress.epoch,
                  .step = run.progress.step - run.progress.skipped,
                  .steps = run.steps,
                  .fitted = fitted,
                  .origins = votes,
                  .batches = options_.trial_steps,
                  .on_cases =
                      [&](const Cases& cases) {
                        if (votes) keeper.add(cases);
                      },
                  .rows = run.progress.evaluation_rows,
                  .on_fewer_rows =
                      [&](std::int64_t, const std::string& warning) {
                        if (callbacks_.trainer.on_warning) callbacks_.trainer.on_warning(warning);
                      }},
                 stop);
    if (!evaluation) return {.status = RunStatus::interrupted};
    if (evaluation->samples == 0 && evaluation->unread.cases > 0)
      throw DataError("[recipe] test: " + evaluation->unread.words(0) +
                      "; mend them, and resume the run to judge it");
    if (callbacks_.on_test) callbacks_.on_test(*evaluation);
    if (evaluation->unread.cases > 0) {
      result.unread = evaluation->unread.words(evaluation->samples);
      warn("test: " + result.unread);
    }
    result.test = evaluation->figures;
    result.confusion = evaluation->confusion;
    if (evaluation->no_numbers.cases > 0) {
      result.refused =
          "test: the network gives " + evaluation->no_numbers.words(evaluation->samples);
      return result;
    }
    // What a member says of records that it could not read is nothing to vote by.
    MemberScores scores = evaluation->unread.cases > 0 ? MemberScores() : keeper.result();
    scores.fitted = std::move(fitted);
    write_member_scores(store_.folder(), scores);
    return result;
  }

  const Recipe& recipe_;
  const Member& member_;
  const MemberOptions& options_;
  const MemberCallbacks& callbacks_;
  std::unique_ptr<Course> course_;
  std::vector<Stage> stages_;
  CheckpointStore store_;
  std::unique_ptr<models::Network> network_;
  TensorMap moments_;  // that the next stage goes on with
};

}  // namespace

MemberResult train_member(const Recipe& recipe, const Member& member, const MemberOptions& options,
                          const MemberCallbacks& callbacks, std::stop_token stop) {
  return MemberRun(recipe, member, options, callbacks).run(stop);
}

}  // namespace headrace::inline v1::training
