#include <headrace/engine/base/error.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/member_run.h>
#include <headrace/training/vote.h>

#include <optional>
#include <utility>
#include <vector>

#include <ATen/Context.h>

namespace headrace::inline v1::training {

namespace {

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
    for (const Stage& stage : stages_)
      require_known(stage);
  }

  MemberResult run(const std::stop_token& stop) {
    at::manual_seed(options_.seed + static_cast<std::uint64_t>(member_.index));
    network_ = course_->network();
    network_->move_to(options_.device, stages_.front().channels_last);
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
    return judge(result);
  }

 private:
  Loader build(Pipeline pipeline) const { return std::move(pipeline).build(options_.loaders); }

  Loader evaluation_loader(Split split, const Stage& stage) const {
    return build(course_->evaluation(
        split, {.batch = evaluation_batch(stage), .device = options_.deliver_to}));
  }

  RunResult run_stage(std::size_t number, const std::optional<Checkpoint>& last,
                      const std::stop_token& stop) {
    const Stage& stage = stages_[number];
    at::globalContext().setBenchmarkCuDNN(stage.cudnn_benchmark);
    if (number > 0 && !last && stage.start == StartFrom::best)
      load_weights(*network_, read_best_weights(store_.best_path()).weights);
    Loader train =
        build(course_->train(stage, {.batch = stage.batch, .device = options_.deliver_to}));
    Loader validation = evaluation_loader(Split::validation, stage);
    AdamW optimizer(parameter_groups(stage, network_->parameters()), stage.optimizer);
    Trainer trainer({.course = *course_,
                     .stage = stage,
                     .network = *network_,
                     .optimizer = optimizer,
                     .train = train,
                     .validation = &validation,
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
    const RunResult result = trainer.run(stop);
    if (callbacks_.on_stage_end) callbacks_.on_stage_end();
    return result;
  }

  TrainerOptions trainer_options(std::size_t number, const Loader& train) const {
    TrainerOptions options{.device = options_.device,
                           .seed = options_.seed,
                           .stage = static_cast<std::int64_t>(number),
                           .checkpoint_every = options_.checkpoint_every,
                           .failed_saves = options_.failed_saves,
                           .identity = options_.identity,
                           .notes = recipe_.notes()};
    options.notes.insert(options_.notes.begin(), options_.notes.end());
    options.identity["member"] = member_.name;
    options.identity["stage"] = stages_[number].name;
    options.identity["records"] = std::to_string(train.samples_per_epoch());
    return options;
  }

  MemberResult judge(const RunResult& run) {
    MemberResult result{.status = run.status, .selected_by = course_->selected_by().figure};
    TensorMap fitted;
    if (std::filesystem::exists(store_.best_path())) {
      BestWeights best = read_best_weights(store_.best_path());
      load_weights(*network_, best.weights);
      result.best_epoch = best.epoch;
      result.validation = std::move(best.validation);
      fitted = std::move(best.fitted);
    } else if (callbacks_.trainer.on_warning) {
      callbacks_.trainer.on_warning("[recipe] no evaluation of " + member_.name +
                                    " could be judged; the test is of its last weights");
    }
    Loader test = evaluation_loader(Split::test, stages_.back());
    ScoreKeeper keeper;
    const auto evaluation =
        evaluate(*course_, *network_, test,
                 {.split = Split::test,
                  .device = options_.device,
                  .stage = stages_.back(),
                  .fitted = fitted,
                  .on_cases = [&keeper](const Cases& cases) { keeper.add(cases); }});
    result.test = evaluation->figures;
    MemberScores scores = keeper.result();
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
};

}  // namespace

MemberResult train_member(const Recipe& recipe, const Member& member, const MemberOptions& options,
                          const MemberCallbacks& callbacks, std::stop_token stop) {
  return MemberRun(recipe, member, options, callbacks).run(stop);
}

}  // namespace headrace::inline v1::training
