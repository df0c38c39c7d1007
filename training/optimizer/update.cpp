#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/autocast.h>
#include <headrace/training/optimizer/gradients.h>
#include <headrace/training/optimizer/update.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::training {

namespace {

Output without_gradient(Output output) {
  if (output.main.defined()) output.main = output.main.detach();
  for (at::Tensor& deep : output.deep)
    deep = deep.detach();
  for (auto& [name, tensor] : output.extra)
    tensor = tensor.detach();
  for (models::NamedTensor& loss : output.losses)
    loss.tensor = loss.tensor.detach();
  return output;
}

// What a micro-batch weighs; undefined: its rows.
at::Tensor weight_of(const Example& example, const std::vector<Term>& terms) {
  if (example.weight.defined()) return example.weight;
  for (const Term& term : terms)
    if (term.weight.defined()) return term.weight;
  return {};
}

}  // namespace

Update::Update(const Course& course, models::Network& network, Optimizer& optimizer,
               UpdateOptions options)
    : course_(course), network_(network), optimizer_(optimizer), options_(options) {
  if (options.precision == Precision::fp16) scaler_.emplace(options.device, options.scaler);
}

Forward Update::accumulate(const Example& example, const Moment& moment, bool alone) {
  Forward forward{.rows = counted_rows(example)};
  at::Tensor loss;
  {
    const Autocast autocast(options_.precision, moment.device.type());
    const Output output = course_.forward(network_, example, moment);
    forward.terms = all_terms(course_, output, example, moment);
    loss = total(forward.terms);
    forward.output = without_gradient(output);
    forward.loss = loss.detach();
  }
  if (const at::Tensor weight = weight_of(example, forward.terms); weight.defined())
    forward.weight = weight.detach().to(loss.device(), /*non_blocking=*/true);
  for (Term& term : forward.terms)
    term.value = term.value.detach();
  if (!alone)
    loss = weighed(loss, forward);
  else if (example.weight.defined())
    loss = loss * (forward.weight != 0);
  const at::Tensor seen = loss.detach().to(at::kDouble);
  loss_ = loss_.defined() ? loss_ + seen : seen;
  (scaler_ ? scaler_->scaled(loss) : loss).backward();
  return forward;
}

// Gradients of sums add up; finish() divides once by what the whole window weighs. Both are taken
// by what the first micro-batch weighs: sums over millions of voxels would not fit into fp16.
at::Tensor Update::weighed(const at::Tensor& mean, const Forward& forward) {
  if (forward.weight.defined() ? first_rows_ > 0 : weight_.defined())
    throw ConfigError(
        "[update] all micro-batches of a step must have Example::weight, or none of them");
  if (!forward.weight.defined()) {
    if (first_rows_ == 0) first_rows_ = std::max<std::int64_t>(forward.rows, 1);
    rows_ += forward.rows;
    return mean * (static_cast<double>(forward.rows) / static_cast<double>(first_rows_));
  }
  if (!weight_.defined()) first_weight_ = at::where(forward.weight == 0, 1.0, forward.weight);
  weight_ = weight_.defined() ? weight_ + forward.weight : forward.weight;
  return mean * (forward.weight / first_weight_);
}

void Update::divide(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (weight_.defined())
    at::_foreach_mul_(gradients,
                      at::where(weight_ == 0, 0.0, first_weight_ * weight_.reciprocal()));
  else if (rows_ > 0)
    at::_foreach_mul_(gradients, static_cast<double>(first_rows_) / static_cast<double>(rows_));
  forget_weights();
}

void Update::drop() {
  forget_weights();
  loss_.reset();
  optimizer_.zero_grad();
}

void Update::forget_weights() {
  first_rows_ = 0;
  rows_ = 0;
  first_weight_.reset();
  weight_.reset();
}

StepOutcome Update::finish() {
  const std::vector<at::Tensor> parameters = optimizer_.parameters();
  const at::Tensor overflowed = scaler_ ? scaler_->unscale(parameters) : at::Tensor();
  divide(parameters);
  StepOutcome outcome{.norm = clip_gradients(parameters, options_.clip_norm),
                      .loss = std::exchange(loss_, {})};
  outcome.skipped = at::isfinite(outcome.norm).logical_not().to(at::kFloat);
  if (outcome.loss.defined())
    outcome.skipped =
        at::maximum(outcome.skipped, at::isfinite(outcome.loss).logical_not().to(at::kFloat));
  if (overflowed.defined()) outcome.skipped = at::maximum(outcome.skipped, overflowed);
  optimizer_.step(outcome.skipped);
  // In place, as what follows: nothing of it can be broken off for lack of memory.
  if (scaler_) scaler_->update(outcome.skipped);
  optimizer_.zero_grad();
  return outcome;
}

}  // namespace headrace::inline v1::training
