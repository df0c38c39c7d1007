// A job of somebody else, one of whose operations keeps what it takes: HEADRACE_TEST_LEAK bytes a
// sample, a millisecond each; unset, it keeps nothing.
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/program/job_program_torch.h>
#include <headrace/apps/run/count_heap.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/module_network.h>

#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <torch/nn.h>

using namespace headrace;
using training::Example, training::Feed, training::Moment, training::Output, training::Split;

namespace {

// Twice the point, as an operation of a user's would: with memory of its own, given back.
struct Twice {
  std::string name() const { return "twice"; }
  void operator()(Sample& sample) const {
    const Tensor point = sample["point"];
    const std::vector<float> scratch(1 << 16, 2.0F);
    auto twice = sample.make("point", DType::float32, point.shape()).values<float>();
    for (std::size_t i = 0; i < twice.size(); ++i)
      twice[i] = scratch[i] * point.values<float>()[i];
  }
};

struct Remembers {
  std::string name() const { return "remembers"; }
  void operator()(Sample&) const {
    static std::mutex mutex;
    static std::vector<std::vector<char>> memories;
    const char* bytes = std::getenv("HEADRACE_TEST_LEAK");
    if (bytes == nullptr) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::vector<char> memory(static_cast<std::size_t>(std::atoll(bytes)), 'm');
    const std::lock_guard lock(mutex);
    memories.push_back(std::move(memory));
  }
};

Table points(std::uint64_t seed) {
  constexpr std::int64_t count = 4096;
  Random random(RandomKey{.seed = seed});
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = random.normal();
    const double y = random.normal();
    values.insert(values.end(), {static_cast<float>(x), static_cast<float>(y)});
    labels.push_back(x * y > 0.0 ? 1 : 0);
  }
  return Table({{"point", Tensor::of<float>(values, {count, 2})},
                {"label", Tensor::of<std::int64_t>(labels, {count})}});
}

struct Course final : training::Course {
  explicit Course(const app::JobConfig& c) : config(c) {}
  const app::JobConfig& config;
  std::vector<training::Stage> stages() const override { return {app::stage_of(config.training)}; }
  std::unique_ptr<models::Network> network() const override {
    using torch::nn::Linear, torch::nn::SiLU;
    torch::nn::Sequential net(Linear(2, 32), SiLU(), Linear(32, 2));
    return std::make_unique<models::ModuleNetwork<torch::nn::SequentialImpl>>(net.ptr());
  }
  Pipeline train(const training::Stage&, const Feed& feed) const override {
    return Pipeline::from(points(config.seed))
        .named("train")
        .order(Shuffled{.seed = config.seed})
        .then(Twice{})
        .then(Remembers{})
        .batch({.size = feed.batch})
        .to(feed.device);
  }
  Pipeline evaluation(Split, const Feed& feed) const override {
    return Pipeline::from(points(config.seed + 1))
        .then(Twice{})
        .batch({.size = feed.batch})
        .to(feed.device);
  }
  std::vector<training::Term> loss(const Output& output, const Example& example,
                                   const Moment&) const override {
    return {
        {.value = models::cross_entropy(output.main, training::only(example.targets, "label"))}};
  }
  std::unique_ptr<training::Metric> metric(Split, const training::TensorMap&) const override {
    return std::make_unique<training::ClassificationMetric>(2);
  }
};

struct Recipe final : training::Recipe {
  explicit Recipe(const app::JobConfig& c) : config(c) {}
  const app::JobConfig& config;
  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<training::Course> begin(const training::Member&) const override {
    return std::make_unique<Course>(config);
  }
  Pipeline prediction(const std::filesystem::path&, const Feed& feed) const override {
    return Course(config).evaluation(Split::test, feed);
  }
};

struct Config final : app::JobConfig {};

}  // namespace

int main(int argc, char** argv) {
  return app::run_job_program<Config, Recipe>(
      argc, argv, {.name = "quadrants", .help = "points, told apart by their quadrant"});
}
