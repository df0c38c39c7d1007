#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <headrace/models/confusion_accumulator.h>
#include <headrace/training/evaluation.h>

#include <chrono>
#include <limits>
#include <utility>

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

class Sums {
 public:
  explicit Sums(const EvaluationOptions& options)
      : loss_(at::zeros({}, at::TensorOptions(options.device).dtype(at::kDouble))) {
    if (options.classes > 0) confusion_.emplace(options.classes);
  }

  void add(const Example& example, const at::Tensor& logits, const at::Tensor& loss) {
    const std::int64_t rows = counted_rows(example);
    if (rows == 0) return;
    loss_ += loss.to(at::kDouble) * static_cast<double>(rows);
    samples_ += rows;
    if (confusion_) confusion_->add(logits, example.target, example.present);
  }

  Evaluation result() const {
    Evaluation evaluation{.loss = std::numeric_limits<double>::quiet_NaN(), .samples = samples_};
    if (samples_ > 0) evaluation.loss = loss_.item<double>() / static_cast<double>(samples_);
    if (confusion_) evaluation.confusion = confusion_->matrix();
    return evaluation;
  }

 private:
  at::Tensor loss_;
  std::int64_t samples_ = 0;
  std::optional<models::ConfusionAccumulator> confusion_;
};

}  // namespace

double Evaluation::accuracy() const {
  return confusion ? models::accuracy(*confusion) : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Evaluation> evaluate(models::Network& network, Loader& loader, const Unpack& unpack,
                                   const Loss& loss, const EvaluationOptions& options,
                                   std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  const at::NoGradGuard no_gradient;
  const EvaluationMode mode(network);
  Sums sums(options);
  for (;;) {
    if (stop.stop_requested()) return std::nullopt;
    const NextBatch next = loader.next(std::chrono::nanoseconds::max(), stop);
    if (next.status == NextBatch::Status::stopped) return std::nullopt;
    if (next.status == NextBatch::Status::end) break;
    const Example example = unpack(next.batch, options.device);
    const Autocast autocast(options.precision, options.device.type());
    const at::Tensor logits = network.forward(example.input);
    sums.add(example, logits, loss(logits, example.target, example.present));
    if (options.on_logits) options.on_logits(next.batch, example, logits);
  }
  Evaluation evaluation = sums.result();
  evaluation.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return evaluation;
}

}  // namespace headrace::inline v1::training
