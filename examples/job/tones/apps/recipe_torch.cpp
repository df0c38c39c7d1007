#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/tones/data.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/training/recipe.h>

#include <torch/nn.h>

namespace headrace::inline v1::app {
namespace {

class TonesCourse final : public training::Course {
 public:
  explicit TonesCourse(const TonesConfig& config) : config_(config) {}

  std::vector<training::Stage> stages() const override { return {stage_of(config_.training)}; }

  std::unique_ptr<models::Network> network() const override {
    namespace nn = torch::nn;
    const auto conv = [](std::int64_t in, std::int64_t out) {
      return nn::Conv1d(nn::Conv1dOptions(in, out, 33).stride(4));
    };
    const nn::Sequential net(conv(1, 16), nn::SiLU(), conv(16, 32), nn::SiLU(),
                             nn::AdaptiveMaxPool1d(1), nn::Flatten(),
                             nn::Linear(32, config_.data.pitches));
    return std::make_unique<models::ModuleNetwork<nn::SequentialImpl>>(net.ptr());
  }

  Pipeline train(const training::Stage&, const training::Feed& feed) const override {
    return tones_training_pipeline(std::make_shared<const Tones>(config_, config_.data.sounds, 0),
                                   config_, feed.device);
  }

  Pipeline evaluation(training::Split split, const training::Feed& feed) const override {
    return Pipeline::from(Tones(config_, config_.data.sounds / 4, static_cast<std::int64_t>(split)))
        .named("evaluation")
        .batch({.size = feed.batch})
        .to(feed.device);
  }

  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment&) const override {
    const at::Tensor& label = training::only(example.targets, "label");
    return {{.value = models::cross_entropy(output.main, label,
                                            {.weights = {.of_samples = example.present}})}};
  }

  std::unique_ptr<training::Metric> metric(training::Split,
                                           const training::TensorMap&) const override {
    return std::make_unique<training::ClassificationMetric>(config_.data.pitches);
  }

  training::Selection selected_by() const override {
    return {.figure = "accuracy", .goal = training::Goal::maximum};
  }

 private:
  TonesConfig config_;
};

class TonesRecipe final : public training::Recipe {
 public:
  explicit TonesRecipe(const TonesConfig& config) : config_(config) {}

  monitor::MemoryForecast plan() override { return {}; }  // nothing is kept in memory
  std::uint64_t open() override { return 0; }
  std::unique_ptr<training::Course> begin(const training::Member&) const override {
    return std::make_unique<TonesCourse>(config_);
  }

 private:
  TonesConfig config_;
};

}  // namespace

std::unique_ptr<training::Recipe> tones_recipe(const JobConfig& config, Device) {
  return std::make_unique<TonesRecipe>(dynamic_cast<const TonesConfig&>(config));
}

}  // namespace headrace::inline v1::app
