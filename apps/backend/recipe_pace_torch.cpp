// How fast the first stage of a run can go, by its own steps.
#include <headrace/apps/backend/recipe_run_torch.h>
#include <headrace/apps/job/stage_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/training/trainer/trainer.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <ATen/Context.h>

namespace headrace::inline v1::app {
namespace {

// More than a trial comes to; changes inside the stage lie behind it.
constexpr std::int64_t endless = 1'000'000;

// As it begins: nothing but the clock ends it, and nothing is judged.
training::Stage paced(training::Stage stage) {
  stage.epochs += endless;
  for (training::Unfreeze& change : stage.unfreeze)
    change.at += endless;
  stage.early_stopping.reset();
  if (std::holds_alternative<training::PlateauOptions>(stage.schedule))
    stage.schedule = training::ConstantRate{};
  stage.non_finite = training::SkipStep{.in_a_row = std::numeric_limits<int>::max()};
  return stage;
}

// Makes every example of one batch, wherever the batch at hand came from.
class KeptCourse final : public training::Course {
 public:
  KeptCourse(const training::Course& course, Batch kept)
      : course_(course), kept_(std::move(kept)) {}

  std::vector<training::Stage> stages() const override { return course_.stages(); }
  std::unique_ptr<models::Network> network() const override { return course_.network(); }
  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override {
    return course_.train(stage, feed);
  }
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override {
    return course_.evaluation(split, feed);
  }
  training::Example example(const Batch&, const training::Moment& moment) const override {
    return course_.example(kept_, moment);
  }
  training::Output forward(models::Network& network, const training::Example& example,
                           const training::Moment& moment) const override {
    return course_.forward(network, example, moment);
  }
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment& moment) const override {
    return course_.loss(output, example, moment);
  }
  at::Tensor scores(const training::Output& output) const override {
    return course_.scores(output);
  }
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override {
    return course_.metric(split, fitted);
  }
  std::vector<std::string> class_names() const override { return course_.class_names(); }
  training::Selection selected_by() const override { return course_.selected_by(); }

 private:
  const training::Course& course_;
  Batch kept_;
};

// Rows of a byte that nobody looks at, in an epoch as long as the training's.
Loader idle_loader(const training::Stage& stage, std::int64_t batches) {
  const SyntheticOptions rows{.rows = stage.batch * batches,
                              .fields = {FieldSpec::fixed("row", DType::uint8, {1})}};
  return Pipeline::from(SyntheticSource(rows))
      .named("kept batch")
      .batch({.size = stage.batch, .tail = Tail::drop})
      .build({.prefetch = 8, .runtime = Runtime({.threads = 1, .io_threads = 1})});
}

// A run that gives way to a lack of memory is not the one that was asked for.
void give_up(const std::string& warning) {
  if (warning.starts_with("[memory]")) throw ResourceError(warning);
}

}  // namespace

class RecipeRun::StagePace {
 public:
  StagePace(const RecipeRun& run, const PaceOptions& options)
      : run_(run),
        options_(options),
        device_(torch_device(run.device_.device)),
        member_(run.member(run.members().front())),
        course_(run.recipe_->begin(member_)),
        stage_(paced(course_->stages().front())) {}

  PaceResult run() {
    at::manual_seed(run_.job_.config->seed + static_cast<std::uint64_t>(member_.index));
    network_ = course_->network();
    network_->move_to(device_, stage_.channels_last);
    training::set_device_modes({.precision = stage_.precision,
                                .cudnn_benchmark = stage_.cudnn_benchmark,
                                .deterministic = stage_.deterministic});
    network_->freeze_norms(stage_.frozen_norms);
    network_->checkpoint(stage_.checkpointed);
    Loader loader = course_->train(stage_, {.batch = stage_.batch, .device = run_.device_.device})
                        .on_bad_sample(run_.job_.config->bad_samples.in_training({}))
                        .build(run_.loader_options());
    if (options_.before_reading) options_.before_reading();
    PaceResult result{.input = options_.input, .stage = stage_.name};
    if (options_.input == PaceInput::device_only)
      pace_of_device(std::move(loader), result);
    else
      pace_of_loader(loader, result);
    return result;
  }

 private:
  void pace_of_device(Loader loader, PaceResult& result) {
    NextBatch first = loader.next();
    if (first.status != NextBatch::Status::ready)
      throw DataError("[pace] the training loader must give a batch, got none");
    const std::int64_t batches = loader.batches_per_epoch();
    result.first_batch_s = loader.stats().first_batch_s;
    { const Loader ended = std::move(loader); }  // the batch lives on
    const KeptCourse course(*course_, std::move(first.batch));
    Loader idle = idle_loader(stage_, batches);
    PaceWindow window(options_, warmup_steps(0), device_.is_cuda());
    take_steps(course, idle, window, std::nullopt);
    window.finish(result);
  }

  void pace_of_loader(Loader& loader, PaceResult& result) {
    std::optional<std::int64_t> most;  // batches
    if (reads_twice(options_))
      most = warm_up(loader, options_, (options_.least_steps + prefetch()) * stage_.accumulation);
    between_epochs(options_);
    PaceWindow window(options_, warmup_steps(prefetch()), device_.is_cuda());
    window.watch(&loader);
    take_steps(*course_, loader, window, most);
    window.finish(result);
  }

  std::int64_t prefetch() const { return run_.job_.config->prefetch(); }

  // What lies ready when the first step begins is used up.
  std::size_t warmup_steps(std::int64_t ready) const {
    constexpr std::int64_t of_the_step = 3;
    return static_cast<std::size_t>(ready / stage_.accumulation + of_the_step);
  }

  // A device alone waits for nobody; rows that nobody looks at come late where cores are taken.
  monitor::StepTimes counted(monitor::StepTimes times) const {
    if (options_.input != PaceInput::device_only) return times;
    times.wall_s -= std::exchange(times.data_wait_s, 0.0);
    return times;
  }

  // Until the window has enough, or `most` batches were taken.
  void take_steps(const training::Course& course, Loader& loader, PaceWindow& window,
                  std::optional<std::int64_t> most) {
    training::Optimizer optimizer(training::parameter_groups(stage_, network_->parameters()),
                                  stage_.optimizer);
    std::stop_source stop;
    std::int64_t taken = 0;
    training::TrainerCallbacks callbacks{
        .on_step =
            [&](const training::StepReport& step) {
              taken += stage_.accumulation;
              const bool enough = window.add(step.times, step.samples);
              if (enough || (most && taken >= *most)) stop.request_stop();
            },
        .on_train_epoch_end =
            [&] {
              between_epochs(options_);  // one has read what the next one reads
            },
        .on_warning = give_up};
    training::Trainer trainer(
        {.course = course,
         .stage = stage_,
         .network = *network_,
         .optimizer = optimizer,
         .train = loader},
        {.device = device_,
         .seed = run_.job_.config->seed + static_cast<std::uint64_t>(member_.index)},
        std::move(callbacks));
    trainer.run(stop.get_token());
  }

  const RecipeRun& run_;
  const PaceOptions& options_;
  at::Device device_;
  const training::Member& member_;
  std::unique_ptr<training::Course> course_;
  training::Stage stage_;
  std::unique_ptr<models::Network> network_;
};

PaceResult RecipeRun::pace(const PaceOptions& options) const {
  return StagePace(*this, options).run();
}

}  // namespace headrace::inline v1::app
