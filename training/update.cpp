#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/isfinite.h>
#include <headrace/training/gradients.h>
#include <headrace/training/update.h>

namespace headrace::inline v1::training {

Update::Update(models::Network& network, const Loss& loss, AdamW& optimizer, UpdateOptions options)
    : network_(network),
      loss_(loss),
      optimizer_(optimizer),
      options_(options),
      parameters_(optimizer.parameters()) {}

Forward Update::accumulate(const Example& example, bool alone) {
  Forward forward{.logits = {}, .loss = {}, .rows = counted_rows(example)};
  at::Tensor loss;
  {
    const Autocast autocast(options_.precision, example.input.device().type());
    const at::Tensor logits = network_.forward(example.input);
    loss = loss_(logits, example.target, example.present);
    forward.logits = logits.detach();
    forward.loss = loss.detach();
  }
  // Gradients of sums add up; finish() divides once by the rows of the whole window.
  if (!alone) {
    loss = loss * static_cast<double>(forward.rows);
    summed_rows_ += forward.rows;
  }
  loss.backward();
  return forward;
}

at::Tensor Update::finish() {
  if (summed_rows_ > 0) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters_)
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    at::_foreach_mul_(gradients, 1.0 / static_cast<double>(summed_rows_));
    summed_rows_ = 0;
  }
  at::Tensor norm;
  at::Tensor skip;
  if (options_.clip_norm > 0.0) {
    norm = clip_gradients(parameters_, options_.clip_norm);
    skip = at::isfinite(norm).logical_not().to(at::kFloat);
  }
  optimizer_.step(skip);
  optimizer_.zero_grad();
  return norm;
}

}  // namespace headrace::inline v1::training
