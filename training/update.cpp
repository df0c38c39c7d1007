#include <headrace/training/autocast.h>
#include <headrace/training/gradients.h>
#include <headrace/training/update.h>

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/isfinite.h>

namespace headrace::inline v1::training {

namespace {

Output without_gradient(Output output) {
  output.main = output.main.detach();
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
  Forward forward{.weight = example.weight, .rows = counted_rows(example)};
  at::Tensor loss;
  {
    const Autocast autocast(options_.precision, moment.device.type());
    const Output output = course_.forward(network_, example, moment);
    forward.terms = all_terms(course_, output, example, moment);
    loss = total(forward.terms);
    forward.output = without_gradient(output);
    forward.loss = loss.detach();
  }
  for (Term& term : forward.terms)
    term.value = term.value.detach();
  // Gradients of sums add up; finish() divides once by what the whole window weighs.
  if (!alone && example.weight.defined()) {
    const at::Tensor weight = example.weight.detach();
    loss = loss * weight;
    summed_weight_ = summed_weight_.defined() ? summed_weight_ + weight : weight;
  } else if (!alone) {
    loss = loss * static_cast<double>(forward.rows);
    summed_rows_ += forward.rows;
  }
  loss.backward();
  return forward;
}

void Update::divide() {
  if (!summed_weight_.defined() && summed_rows_ == 0) return;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (summed_weight_.defined())
    at::_foreach_mul_(gradients, summed_weight_.reciprocal());
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
