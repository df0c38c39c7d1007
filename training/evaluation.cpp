#include <headrace/training/autocast.h>
#include <headrace/training/evaluation.h>

#include <chrono>
#include <utility>

#include <ATen/core/grad_mode.h>

namespace headrace::inline v1::training {

namespace {

class EvaluationMode {
 public:
  explicit EvaluationMode(models::Network& network)
      : network_(network), before_(network.is_training()) {
    network_.set_training(false);
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;
  ~EvaluationMode() { network_.set_training(before_); }

 private:
  models::Network& network_;
  bool before_;
};

// One pass of a loader's data through a network, whose cases somebody looks at.
class Pass {
 public:
  using Look = std::function<void(const Cases& cases, const Moment& moment)>;

  Pass(const Course& course, models::Network& network, const EvaluationOptions& options, Look look)
      : course_(course),
        network_(network),
        options_(options),
        look_(std::move(look)),
        moment_{.epoch = options.epoch,
                .step = options.step,
                .steps = options.steps,
                .stage = options.stage,
                .device = options.device,
                .random = random_},
        inference_(course.inference()) {}

  // Whether the pass came to its end.
  bool run(Loader& loader, const std::stop_token& stop) {
    const at::NoGradGuard no_gradient;
    const EvaluationMode mode(network_);
    for (;;) {
      if (stop.stop_requested()) return false;
      const NextBatch next = loader.next(std::chrono::nanoseconds::max(), stop);
      if (next.status == NextBatch::Status::stopped) return false;
      if (next.status == NextBatch::Status::end) break;
      see(next.batch);
    }
    for (Cases& cases : inference_->finish())
      show(cases);
    return true;
  }

 private:
  void see(const Batch& batch) {
    random_ = Random({.seed = options_.seed,
                      .loader = hash_name("evaluation of " + options_.stage.name +
                                          (options_.split == Split::test ? ", test" : "")),
                      .epoch = options_.epoch,
                      .position = batch.position_after().position});
    Example example = course_.example(batch, moment_);
    example.rows = counted_rows(example);
    std::vector<Cases> all =
        inference_->add(std::move(example), batch, [this](const Example& one) { return ask(one); });
    for (Cases& cases : all) {
      if (options_.origins && cases.are_rows) cases.origins = batch.origins();
      show(cases);
    }
  }

  Prediction ask(const Example& example) {
    const Autocast autocast(options_.stage.precision, options_.device.type());
    Output output = course_.forward(network_, example, moment_);
    at::Tensor scores = course_.scores(output);
    return {.output = std::move(output), .scores = std::move(scores)};
  }

  void show(Cases& cases) {
    cases.first = cases_;
    cases_ += case_count(cases);
    look_(cases, moment_);
    if (options_.on_cases) options_.on_cases(cases);
  }

  const Course& course_;
  models::Network& network_;
  const EvaluationOptions& options_;
  Look look_;
  Random random_;
  Moment moment_;
  std::unique_ptr<Inference> inference_;
  std::int64_t cases_ = 0;
};

}  // namespace

std::optional<Evaluation> evaluate(const Course& course, models::Network& network, Loader& loader,
                                   const EvaluationOptions& options, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  LossMeans loss;
  const std::unique_ptr<Metric> metric = course.metric(options.split, options.fitted);
  std::int64_t samples = 0;
  const auto look = [&](const Cases& cases, const Moment& moment) {
    samples += counted_rows(cases.example);
    if (has_values(cases.output)) {
      const Autocast autocast(options.stage.precision, options.device.type());
      loss.add(all_terms(course, cases.output, cases.example, moment), cases.example);
    }
    if (metric) metric->add(cases);
  };
  if (!Pass(course, network, options, look).run(loader, stop)) return std::nullopt;
  Evaluation evaluation{.samples = samples};
  // Cases that were put together have no loss; a figure that is none would select nothing.
  if (loss.rows() > 0 || !metric) evaluation.figures = loss.figures();
  if (metric) {
    const Figures found = metric->result();
    evaluation.figures.insert(evaluation.figures.end(), found.begin(), found.end());
    evaluation.fitted = metric->fitted();
    evaluation.confusion = metric->confusion();
  }
  evaluation.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

bool predict(const Course& course, models::Network& network, Loader& loader,
             const EvaluationOptions& options, std::stop_token stop) {
  return Pass(course, network, options, [](const Cases&, const Moment&) {}).run(loader, stop);
}

}  // namespace headrace::inline v1::training
