#include <headrace/apps/jobs/job_list.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/tests/apps/job_steps.h>
#include <headrace/tests/support/torch_doctest.h>
#include <headrace/tests/training/changed_course.h>

#include <cstring>
#include <stop_token>
#include <utility>

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

// Asks for a stop where an example is made of the last batch.
CourseChanges stopping_at(std::int64_t batches, std::stop_source& stop) {
  return {.example = [batches, &stop](const Batch& got, training::Example example) {
    if (got.number() + 1 == batches) stop.request_stop();
    return example;
  }};
}

void train(JobStep& job, const StepVariant& variant, Device deliver_to,
           const std::function<void(const training::StepReport&)>& on_step) {
  Loader loader = loader_of(job, variant.padded, deliver_to);
  training::Stage stage = job.stage;
  stage.precision = variant.precision;
  stage.accumulation = variant.accumulation;
  stage.schedule = training::CosineRate{};
  stage.early_stopping.reset();
  training::Optimizer optimizer(training::parameter_groups(stage, job.network->parameters()),
                                stage.optimizer);
  std::stop_source stop;
  // Before the end: on a GPU reports come later than their steps.
  const ChangedCourse course(job.course, stopping_at(loader.batches_per_epoch(), stop));
  training::Trainer trainer({.course = course,
                             .stage = stage,
                             .network = *job.network,
                             .optimizer = optimizer,
                             .train = loader},
                            job.options, {.on_step = on_step});
  const training::RunResult result = trainer.run(stop.get_token());
  CHECK((result.status == training::RunStatus::interrupted));
  CHECK(result.progress.samples == epoch_rows);
}

void evaluate(JobStep& job, const StepVariant& variant, Device deliver_to) {
  Loader loader = loader_of(job, variant.padded, deliver_to);
  std::stop_source stop;
  const ChangedCourse course(job.course, stopping_at(loader.batches_per_epoch(), stop));
  training::Stage stage = job.stage;
  stage.precision = variant.precision;
  const auto evaluation =
      training::evaluate(course, *job.network, loader,
                         {.device = job.options.device, .stage = stage}, stop.get_token());
  CHECK_FALSE(evaluation.has_value());
}

}  // namespace

JobStep job_step(std::shared_ptr<const training::Course> course, c10::Device device,
                 std::shared_ptr<const Source> rows) {
  JobStep job{.course = std::move(course), .options = {.device = device}, .rows = std::move(rows)};
  job.stage = job.course->stages().front();
  job.network = job.course->network();
  return job;
}

std::shared_ptr<const Source> zero_rows(FieldSpec field, std::int64_t classes) {
  return std::make_shared<Zeros>(std::move(field), classes);
}

// Null where a job's tests have no step.
#define HEADRACE_DECLARE(name) [[gnu::weak]] JobStep name##_step(c10::Device device);
HEADRACE_JOBS(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE

namespace {

std::vector<JobStepMaker> all_steps() {
  std::vector<JobStepMaker> all;
#define HEADRACE_ADD(name) \
  if (name##_step != nullptr) all.push_back({#name, name##_step});
  HEADRACE_JOBS(HEADRACE_ADD)
#undef HEADRACE_ADD
  return all;
}

}  // namespace

const std::vector<JobStepMaker>& job_steps() {
  static const std::vector<JobStepMaker> all = all_steps();
  return all;
}

void run_steps(JobStep& job, const StepVariant& variant, Device deliver_to,
               const std::function<void(const training::StepReport&)>& on_step) {
  train(job, variant, deliver_to, on_step);
  evaluate(job, variant, deliver_to);
}

}  // namespace headrace::test
