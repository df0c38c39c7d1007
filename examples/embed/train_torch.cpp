// Two linear layers with LibTorch: a batch becomes two tensors without a copy.
#include <headrace/engine/torch/as_tensor.h>

#include "train.h"

#include <torch/nn.h>
#include <torch/optim/adam.h>

namespace embed {

double train(headrace::Loader& loader, headrace::Loader& test, int epochs) {
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Linear(2, 16), torch::nn::Tanh(), torch::nn::Linear(16, 2));
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.02));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (headrace::Batch& batch : loader.epoch(epoch)) {
      adam.zero_grad();
      const auto logits = net->forward(headrace::as_tensor(batch["point"]));
      torch::nn::functional::cross_entropy(logits, headrace::as_tensor(batch["label"])).backward();
      adam.step();
    }
  }
  torch::NoGradGuard no_grad;
  std::int64_t right = 0;
  for (headrace::Batch& batch : test.epoch(0)) {
    const auto guess = net->forward(headrace::as_tensor(batch["point"])).argmax(1);
    right += guess.eq(headrace::as_tensor(batch["label"])).sum().item<std::int64_t>();
  }
  return static_cast<double>(right) / static_cast<double>(test.samples_per_epoch());
}

int net_threads() {
  return at::get_num_threads();
}

}  // namespace embed
