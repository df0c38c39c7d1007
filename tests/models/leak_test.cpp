#include <headrace/engine/base/error.h>
#include <headrace/models/losses/leak_loss.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/models/metrics/leak_decision.h>
#include <headrace/models/networks/leak_cnn.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using doctest::Approx;

namespace {

// The rule as it is told, without sharing any code: counts every long segment by hand.
bool slowly_a_leak(const float* segments, std::int64_t longs, std::int64_t shorts,
                   double threshold) {
  std::int64_t reached = 0;
  for (std::int64_t l = 0; l < longs; ++l) {
    double mean = 0.0;
    for (std::int64_t s = 0; s < shorts; ++s)
      mean += double{segments[l * shorts + s]} / static_cast<double>(shorts);
    reached += mean >= threshold ? 1 : 0;
  }
  return static_cast<double>(reached) >= std::ceil(static_cast<double>(longs) / 2.0);
}

}  // namespace

TEST_CASE("LeakCNN has 617,987 parameters with two classes and 618,758 with five") {
  CHECK(parameter_count(*make_leak_cnn()) == 617'987);
  CHECK(parameter_count(*make_leak_cnn({.classes = 5})) == 618'758);
}

TEST_CASE("LeakCNN gives class logits and one more, for one frame as for many") {
  const auto network = make_leak_cnn();
  network->set_training(false);
  for (const std::int64_t frames : {1, 5, 9}) {
    const at::Tensor output = network->forward(at::rand({3, 1, 64, frames}));
    CHECK(output.sizes() == at::IntArrayRef{3, 3});
    CHECK(at::isfinite(output).all().item<bool>());
  }
  CHECK_THROWS_AS(network->forward(at::rand({3, 1, 32, 5})), headrace::DataError);
  CHECK_THROWS_AS(network->forward(at::rand({3, 64, 5})), headrace::DataError);
  CHECK_THROWS_AS(make_leak_cnn({.classes = 1}), headrace::ConfigError);
}

TEST_CASE("LeakCNN in channels-last computes in that layout from its first convolution on") {
  const auto network = make_leak_cnn();
  network->move_to(at::kCPU, /*channels_last=*/true);
  for (const NamedTensor& item : network->parameters()) {
    CAPTURE(item.name);
    if (item.tensor.dim() == 4)
      CHECK((item.tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast));
  }
}

TEST_CASE("LeakCNN starts from Kaiming's normal distribution and zero biases") {
  const auto network = make_leak_cnn();
  for (const NamedTensor& item : network->parameters()) {
    if (item.name.ends_with(".bias")) {
      CHECK(item.tensor.abs().max().item<double>() == 0.0);
    } else if (item.tensor.numel() > 10'000) {
      const double fan_in = static_cast<double>(item.tensor.numel() / item.tensor.size(0));
      CHECK(item.tensor.std().item<double>() == Approx(std::sqrt(2.0 / fan_in)).epsilon(0.05));
    }
  }
}

TEST_CASE("the leak loss is weighted cross entropy and the auxiliary term") {
  const at::Tensor output =
      at::tensor({1.0, -0.5, 0.3, 0.2, 0.9, -1.2, -0.4, 0.1, 2.0}, at::kDouble).view({3, 3});
  const at::Tensor target = at::tensor({0, 1, 1}, at::kLong);
  const double weights[] = {0.5, 1.5};
  double sum = 0.0;
  double weight = 0.0;
  double auxiliary = 0.0;
  for (int row = 0; row < 3; ++row) {
    const auto at = [&](int column) { return output[row][column].item<double>(); };
    const auto truth = target[row].item<std::int64_t>();
    const double log_p = at(static_cast<int>(truth)) - std::log(std::exp(at(0)) + std::exp(at(1)));
    sum -= weights[truth] * log_p;
    weight += weights[truth];
    const double p = 1.0 / (1.0 + std::exp(-at(2)));
    auxiliary -= std::log(truth == 1 ? p : 1.0 - p) / 3.0;
  }
  const LeakLossOptions options{.class_weights = at::tensor({0.5, 1.5}, at::kDouble)};
  CHECK(leak_loss(output, target, options).item<double>() ==
        Approx(sum / weight + 0.3 * auxiliary).epsilon(1e-9));

  // A row that is absent changes nothing, whatever it holds.
  const at::Tensor more = at::cat({output, at::full({1, 3}, 50.0, at::TensorOptions(at::kDouble))});
  LeakLossOptions masked = options;
  masked.present = at::tensor({1, 1, 1, 0}, at::kLong).to(at::kBool);
  CHECK(leak_loss(more, at::tensor({0, 1, 1, 0}, at::kLong), masked).item<double>() ==
        Approx(sum / weight + 0.3 * auxiliary).epsilon(1e-9));
  CHECK_THROWS_AS(leak_loss(at::rand({2, 2}), target, options), headrace::ConfigError);
}

TEST_CASE("the leak loss has the gradient of finite differences and falls for better answers") {
  const at::Tensor target = at::tensor({0, 1, 1, 0}, at::kLong);
  at::Tensor output = at::randn({4, 3}, at::TensorOptions(at::kDouble)).requires_grad_(true);
  leak_loss(output, target).backward();
  const at::Tensor gradient = output.grad();
  const at::Tensor values = output.detach();
  for (std::int64_t i = 0; i < 12; ++i) {
    const auto loss_at = [&](double step) {
      at::Tensor moved = values.clone();
      moved.view(-1)[i] += step;
      return leak_loss(moved, target).item<double>();
    };
    const double wanted = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
    CHECK(gradient.view(-1)[i].item<double>() == Approx(wanted).epsilon(1e-5));
  }
  const at::Tensor better = values - 0.1 * gradient;
  CHECK(leak_loss(better, target).item<double>() < leak_loss(values, target).item<double>());
}

TEST_CASE("class weights are inverse frequencies with mean one") {
  const std::vector<std::int64_t> counts{300, 100};
  const std::vector<float> plain = leak_class_weights(counts, 1);
  CHECK(plain[0] == Approx(0.5));
  CHECK(plain[1] == Approx(1.5));
  const std::vector<float> boosted = leak_class_weights(counts, 1, 2.5);
  CHECK(boosted[1] / boosted[0] == Approx(7.5));
  CHECK(boosted[0] + boosted[1] == Approx(2.0));
  CHECK_THROWS_AS(leak_class_weights(std::vector<std::int64_t>{0, 0}, 1), headrace::ConfigError);
}

TEST_CASE("the decision about recordings is that of a slow reference") {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  for (const std::int64_t longs : {1, 4, 7}) {
    const LeakLayout layout{.longs = longs, .shorts = 3};
    std::vector<float> probabilities;
    std::vector<std::uint8_t> labels;
    for (int file = 0; file < 100; ++file) {
      labels.push_back(static_cast<std::uint8_t>(random() % 2));
      for (std::int64_t i = 0; i < layout.segments(); ++i)
        probabilities.push_back(0.5F * uniform(random) + 0.3F * labels.back());
    }
    for (const double threshold : {0.1, 0.4, 0.5, 0.55, 0.9}) {
      const LeakDecisions decisions = decide_leaks(probabilities, labels, layout, threshold);
      LeakDecisions wanted;
      for (std::size_t file = 0; file < labels.size(); ++file) {
        const bool called = slowly_a_leak(probabilities.data() + file * layout.segments(), longs,
                                          layout.shorts, threshold);
        wanted.true_positive += labels[file] == 1 && called ? 1 : 0;
        wanted.false_positive += labels[file] == 0 && called ? 1 : 0;
        wanted.false_negative += labels[file] == 1 && !called ? 1 : 0;
      }
      CHECK(decisions.true_positive == wanted.true_positive);
      CHECK(decisions.false_positive == wanted.false_positive);
      CHECK(decisions.false_negative == wanted.false_negative);
      CHECK(decisions.true_positive + decisions.false_positive + decisions.false_negative +
                decisions.true_negative ==
            100);
    }
    const LeakDecisions best = best_leak_threshold(probabilities, labels, layout);
    for (int step = 10; step <= 90; step += 5)
      CHECK(decide_leaks(probabilities, labels, layout, step / 100.0).f1() <= best.f1());
  }
}

TEST_CASE("of thresholds with the same F1 the nearest to one half is taken") {
  const LeakLayout layout{.longs = 1, .shorts = 1};
  const std::vector<std::uint8_t> labels{0, 1};
  const auto chosen = [&](float low, float high) {
    return best_leak_threshold(std::vector<float>{low, high}, labels, layout).threshold;
  };
  CHECK(chosen(0.01F, 0.99F) == Approx(0.5));
  CHECK(chosen(0.62F, 0.99F) == Approx(0.65));
  CHECK(chosen(0.01F, 0.33F) == Approx(0.3));
  CHECK_THROWS_AS(decide_leaks(std::vector<float>{0.5F}, labels, layout, 0.5), headrace::DataError);
}

TEST_CASE("a confusion matrix counts the classes and leaves other heads out") {
  ConfusionAccumulator confusion(2);
  confusion.add(at::tensor({1.0, 0.0, 9.0, 0.0, 1.0, -9.0}).view({2, 3}),
                at::tensor({0, 1}, at::kLong));
  CHECK(accuracy(confusion.matrix()) == 1.0);
}
