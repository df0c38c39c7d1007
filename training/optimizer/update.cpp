#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/autocast.h>
#include <headrace/training/optimizer/gradients.h>
#include <headrace/training/optimizer/update.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/full.h>
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

// Nothing of nothing. Of counts a quotient would be float32, whatever the losses are.
at::Tensor share(const at::Tensor& part, const at::Tensor& whole) {
  return at::where(whole == 0, 0.0, part.to(at::kDouble) / whole);
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

// Gradients add up, each by its share of the heaviest micro-batch so far, and finish() makes of
// them that of the mean. Sums over millions of voxels would not fit into fp16, nor do shares
// above 1.
at::Tensor Update::weighed(const at::Tensor& mean, const Forward& forward) {
  const bool by_rows = !forward.weight.defined();
  if (weight_.defined() && by_rows != by_rows_)
    throw ConfigError(
        "[update] all micro-batches of a step must have Example::weight, or none of them");
  by_rows_ = by_rows;
  const at::Tensor weight =
      by_rows ? at::full({}, forward.rows, mean.options().dtype(at::kLong)) : forward.weight;
  weight_ = weight_.defined() ? weight_ + weight : weight;
  if (!by_rows || forward.rows > most_rows_) raise_base(weight);
  most_rows_ = std::max(most_rows_, forward.rows);
  return mean * share(weight, base_).to(mean.scalar_type());
}

void Update::raise_base(const at::Tensor& weight) {
  const at::Tensor before =
      std::exchange(base_, base_.defined() ? at::maximum(base_, weight) : weight);
  if (before.defined()) scale_gradients(share(before, base_));
}

void Update::scale_gradients(const at::Tensor& factor) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : optimizer_.parameters())
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor.to(gradients.front().scalar_type()));
}

void Update::drop() {
  forget_weights();
  loss_.reset();
  optimizer_.zero_grad();
}

void Update::forget_weights() {
  weight_.reset();
  base_.reset();
  most_rows_ = -1;
}

StepOutcome Update::finish() {
  const std::vector<at::Tensor> parameters = optimizer_.parameters();
  const at::Tensor overflowed = scaler_ ? scaler_->unscale(parameters) : at::Tensor();
  if (weight_.defined()) scale_gradients(share(base_, weight_));
  forget_weights();
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
