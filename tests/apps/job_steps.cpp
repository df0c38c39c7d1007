#include <headrace/apps/jobs/glaucoma/parts_torch.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/models/efficient_glaucoma_cnn.h>
#include <headrace/models/leak_cnn.h>
#include <headrace/tests/apps/job_steps.h>

#include <cstring>
#include <stop_token>
#include <utility>

#include "../support/torch_doctest.h"

namespace headrace::test {

namespace {

constexpr std::int64_t batch = 8;

// Zeros and classes in turn: waits do not depend on values.
class Zeros final : public Source {
 public:
  explicit Zeros(FieldSpec field, std::int64_t classes)
      : field_(std::move(field)), classes_(classes) {}

  std::string name() const override { return "zeros"; }
  std::int64_t size() const override { return epoch_rows; }
  Schema fields() const override { return {field_, FieldSpec::fixed("label", DType::int64, {})}; }
  void read(std::int64_t index, Sample& sample) const override {
    const Tensor values = sample.make(field_.name, field_.dtype, field_.shape);
    std::memset(values.raw(), 0, static_cast<std::size_t>(values.bytes()));
    sample.set_scalar<std::int64_t>("label", index % classes_);
  }

 private:
  FieldSpec field_;
  std::int64_t classes_;
};

Loader loader_of(const JobStep& job, bool padded, Device device) {
  return Pipeline::from(job.rows)
      .batch({.size = batch, .tail = padded ? Tail::pad : Tail::shorter})
      .to(device)
      .build();
}

void train(JobStep& job, const StepVariant& variant, Device deliver_to,
           const std::function<void(const training::StepReport&)>& on_step) {
  Loader loader = loader_of(job, variant.padded, deliver_to);
  training::AdamW optimizer(job.network->parameters(), {});
  training::TrainerOptions options = job.options;
  options.precision = variant.precision;
  options.accumulation = variant.accumulation;
  options.plateau.reset();
  options.early_stopping.reset();
  std::stop_source stop;
  // Before the end: on a GPU reports come later than their steps.
  options.schedule = [&, steps = std::int64_t{0}](std::int64_t) mutable {
    if (++steps == loader.batches_per_epoch() / variant.accumulation) stop.request_stop();
    return 1e-3;
  };
  training::Trainer trainer({.network = *job.network,
                             .optimizer = optimizer,
                             .loss = job.loss,
                             .unpack = job.unpack,
                             .train = loader},
                            std::move(options), {.on_step = on_step});
  const training::RunResult result = trainer.run(stop.get_token());
  CHECK((result.status == training::RunStatus::interrupted));
  CHECK(result.progress.samples == epoch_rows);
}

void evaluate(JobStep& job, const StepVariant& variant, Device deliver_to) {
  Loader loader = loader_of(job, variant.padded, deliver_to);
  std::stop_source stop;
  const auto on_logits = [&](const Batch& got, const training::Example&, const at::Tensor& logits) {
    if (job.scores) job.scores->add(got, logits);
    if (got.number() + 1 == loader.batches_per_epoch()) stop.request_stop();
  };
  const auto evaluation = training::evaluate(*job.network, loader, job.unpack, job.loss,
                                             {.classes = job.options.classes,
                                              .device = job.options.device,
                                              .precision = variant.precision,
                                              .on_logits = on_logits},
                                             stop.get_token());
  CHECK_FALSE(evaluation.has_value());
}

}  // namespace

JobStep glaucoma_step(c10::Device device) {
  const app::GlaucomaConfig config;
  JobStep job{
      .name = "glaucoma",
      .network = models::make_efficient_glaucoma_cnn({.channels = 3, .classes = 5}),
      .loss = app::glaucoma_loss(config.training),
      .unpack = app::glaucoma_unpack(config.training.channels_last),
      .options = app::glaucoma_trainer_options(config, {}, 0, 6),
      .rows = std::make_shared<Zeros>(FieldSpec::fixed("image", DType::float32, {16, 16, 3}), 5)};
  job.options.device = device;
  return job;
}

JobStep leak_step(c10::Device device) {
  app::LeakConfig config;
  config.training.warmup_epochs = 0;
  const app::LeakFile file{.longs = 1,
                           .shorts = 1,
                           .mels = 64,
                           .frames = 2,
                           .labels = {0, 1, 0},
                           .mean = -40.0,
                           .deviation = 12.0};
  JobStep job{.name = "leak",
              .network = models::make_leak_cnn({.classes = 2}),
              .loss = app::leak_training_loss(file, config.training, device),
              .unpack = app::leak_unpack(file, config.training.channels_last),
              .options = app::leak_trainer_options(config, {}, file, 6),
              .rows = std::make_shared<Zeros>(FieldSpec::fixed("mel", DType::float16, {64, 2}), 2),
              .scores = std::make_shared<app::LeakScores>()};
  job.options.device = device;
  return job;
}

void run_steps(JobStep& job, const StepVariant& variant, Device deliver_to,
               const std::function<void(const training::StepReport&)>& on_step) {
  train(job, variant, deliver_to, on_step);
  evaluate(job, variant, deliver_to);
}

}  // namespace headrace::test
