#include <headrace/engine/base/error.h>
#include <headrace/training/autocast.h>
#include <headrace/training/gradients.h>
#include <headrace/training/update.h>

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/isfinite.h>
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

}  // namespace

Update::Update(const Course& course, models::Network& network, AdamW& optimizer,
               UpdateOptions options)
    : course_(course),
      network_(network),
      optimizer_(optimizer),
      options_(options),
      parameters_(optimizer.parameters()) {}

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
  if (example.weight.defined())
    forward.weight = example.weight.detach().to(loss.device(), /*non_blocking=*/true);
  for (Term& term : forward.terms)
    term.value = term.value.detach();
  // Gradients of sums add up; finish() divides once by what the whole window weighs.
  if (!alone)
    loss = summed(loss, forward);
  else if (forward.weight.defined())
    loss = loss * (forward.weight != 0);
  loss.backward();
  return forward;
}

at::Tensor Update::summed(const at::Tensor& mean, const Forward& forward) {
  if (forward.weight.defined() ? weighed_by_rows_ : summed_weight_.defined())
    throw ConfigError(
        "[update] all micro-batches of a step must have Example::weight, or none of them");
  if (!forward.weight.defined()) {
    weighed_by_rows_ = true;
    summed_rows_ += forward.rows;
    return mean * static_cast<double>(forward.rows);
  }
  summed_weight_ = summed_weight_.defined() ? summed_weight_ + forward.weight : forward.weight;
  return mean * forward.weight;
}

void Update::divide() {
  weighed_by_rows_ = false;
  if (!summed_weight_.defined() && summed_rows_ == 0) return;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (summed_weight_.defined())
    at::_foreach_mul_(gradients, at::where(summed_weight_ == 0, 0.0, summed_weight_.reciprocal()));
  else
    at::_foreach_mul_(gradients, 1.0 / static_cast<double>(summed_rows_));
  summed_rows_ = 0;
  summed_weight_.reset();
}

StepOutcome Update::finish() {
  divide();
  StepOutcome outcome{.norm = clip_gradients(parameters_, options_.clip_norm)};
  outcome.skipped = at::isfinite(outcome.norm).logical_not().to(at::kFloat);
  optimizer_.step(outcome.skipped);
  optimizer_.zero_grad();
  return outcome;
}

}  // namespace headrace::inline v1::training
