// A job of one's own on Headrace's libraries: two spirals, told apart by a small network.
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/program/job_program_torch.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/module_network.h>

#include <cmath>

#include <torch/nn.h>

using namespace headrace;
using training::Example, training::Feed, training::Moment, training::Output, training::Split;

struct SpiralsConfig final : app::JobConfig {
  std::int64_t points = 8192, hidden = 64;

  void describe_keys(app::Fields& fields) override {
    JobConfig::describe_keys(fields);
    fields.key("points", points, {.doc = "of each of the three sets", .min = 2, .max = 1e7});
    fields.key("hidden", hidden, {.doc = "width of the network", .min = 1, .max = 4096});
  }
};

// Points of both spirals in turn; each set has its own.
Table spirals(const SpiralsConfig& config, Split set) {
  Random random(RandomKey{.seed = config.seed, .position = static_cast<std::int64_t>(set)});
  std::vector<float> points;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < config.points; ++i) {
    const double radius = random.uniform(0.05, 1.0);
    const double angle = M_PI * (3.0 * radius + static_cast<double>(i % 2));
    points.push_back(static_cast<float>(radius * std::cos(angle) + 0.02 * random.normal()));
    points.push_back(static_cast<float>(radius * std::sin(angle) + 0.02 * random.normal()));
    labels.push_back(i % 2);
  }
  return Table({{"point", Tensor::of<float>(points, {config.points, 2})},
                {"label", Tensor::of<std::int64_t>(labels, {config.points})}});
}

Pipeline in_order(Table table, const Feed& feed) {
  return Pipeline::from(std::move(table)).batch({.size = feed.batch}).to(feed.device);
}

struct SpiralsCourse final : training::Course {
  explicit SpiralsCourse(const SpiralsConfig& c) : config(c) {}
  const SpiralsConfig config;
  std::vector<training::Stage> stages() const override { return {app::stage_of(config.training)}; }
  std::unique_ptr<models::Network> network() const override {
    using torch::nn::Linear, torch::nn::SiLU;
    const auto n = config.hidden;
    torch::nn::Sequential net(Linear(2, n), SiLU(), Linear(n, n), SiLU(), Linear(n, 2));
    return std::make_unique<models::ModuleNetwork<torch::nn::SequentialImpl>>(net.ptr());
  }
  Pipeline train(const training::Stage&, const Feed& feed) const override {
    return in_order(spirals(config, Split::train), feed).order(Shuffled{.seed = config.seed});
  }
  Pipeline evaluation(Split split, const Feed& feed) const override {
    return in_order(spirals(config, split), feed);
  }
  std::vector<training::Term> loss(const Output& output, const Example& example,
                                   const Moment&) const override {
    const at::Tensor& label = training::only(example.targets, "label");
    return {{.value = models::cross_entropy(output.main, label)}};
  }
  std::unique_ptr<training::Metric> metric(Split, const training::TensorMap&) const override {
    return std::make_unique<training::ClassificationMetric>(2);
  }
};

struct SpiralsRecipe final : training::Recipe {
  explicit SpiralsRecipe(const SpiralsConfig& c) : config(c) {}
  const SpiralsConfig config;
  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<training::Course> begin(const training::Member&) const override {
    return std::make_unique<SpiralsCourse>(config);
  }
  Pipeline prediction(const std::filesystem::path& data, const Feed& feed) const override {
    const NpyFile file(data);  // float32 [points, 2]
    return in_order(Table({{"point", file.rows(0, file.shape()[0])}}), feed);
  }
};

int main(int argc, char** argv) {
  return app::run_job_program<SpiralsConfig, SpiralsRecipe>(
      argc, argv, {.name = "spirals", .help = "two spirals, told apart by a small network"});
}
