// A job of somebody else: three networks that each tell two of three classes apart, and vote by two
// schemes.
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/program/job_program_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/module_network.h>

#include <algorithm>

#include <torch/nn.h>

using namespace headrace;
using training::Cases, training::Example, training::Feed, training::Member, training::Moment,
    training::Output, training::Split, training::TensorMap;

namespace {

constexpr std::int64_t records = 90;
constexpr std::int64_t classes = 3;
constexpr std::pair<std::int64_t, std::int64_t> pairs[] = {{0, 1}, {0, 2}, {1, 2}};
constexpr const char* class_words[] = {"north", "east", "west"};

std::vector<std::int64_t> records_of(const std::vector<std::int64_t>& labels) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < records; ++row)
    if (std::find(labels.begin(), labels.end(), row % classes) != labels.end()) rows.push_back(row);
  return rows;
}

// Points around three corners.
Table points(const std::vector<std::int64_t>& rows) {
  constexpr float corners[classes][2] = {{0.0F, 1.0F}, {1.0F, -1.0F}, {-1.0F, -1.0F}};
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (const std::int64_t row : rows) {
    Random random(RandomKey{.seed = static_cast<std::uint64_t>(row)});
    for (const float middle : corners[row % classes])
      values.push_back(middle + 0.4F * static_cast<float>(random.normal()));
    labels.push_back(row % classes);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return Table({{"point", Tensor::of<float>(values, {count, 2})},
                {"label", Tensor::of<std::int64_t>(labels, {count})}});
}

const at::Tensor& label_of(const Example& example) {
  return training::only(example.targets, "label");
}

// Of a pair; the validation says how far it is to be trusted.
class PairMetric final : public training::Metric {
 public:
  explicit PairMetric(std::int64_t second) : second_(second) {}
  void add(const Cases& cases) override {
    Cases mine = cases;
    mine.example.targets = {{"label", (label_of(cases.example) == second_).to(at::kLong)}};
    counts_.add(mine);
  }
  training::Figures result() override { return counts_.result(); }
  std::optional<models::ConfusionMatrix> confusion() const override { return counts_.confusion(); }
  TensorMap fitted() const override { return {{"trust", at::scalar_tensor(0.5, at::kDouble)}}; }

 private:
  std::int64_t second_;
  training::ClassificationMetric counts_{2};
};

// The class that most pairs say.
class HardVote final : public training::Metric {
 public:
  void add(const Cases& cases) override {
    const at::Tensor second = cases.output.extra.at("pairs") > 0.5;
    Cases hard = cases;
    hard.scores = at::zeros({second.size(0), classes});
    for (std::int64_t i = 0; i < 3; ++i) {
      hard.scores.select(1, pairs[i].second).add_(second.select(1, i));
      hard.scores.select(1, pairs[i].first).add_(second.select(1, i).logical_not());
    }
    counts_.add(hard);
  }
  training::Figures result() override { return counts_.result(); }
  std::optional<models::ConfusionMatrix> confusion() const override { return counts_.confusion(); }

 private:
  training::ClassificationMetric counts_{classes};
};

struct Course final : training::Course {
  Course(const app::JobConfig& c, const Member& m) : config(c), member(m) {}
  const app::JobConfig& config;
  const Member member;
  std::int64_t second() const { return pairs[member.index].second; }

  std::vector<training::Stage> stages() const override { return {app::stage_of(config.training)}; }
  std::unique_ptr<models::Network> network() const override {
    using torch::nn::Linear, torch::nn::SiLU;
    torch::nn::Sequential net(Linear(2, 8), SiLU(), Linear(8, 2));
    return std::make_unique<models::ModuleNetwork<torch::nn::SequentialImpl>>(net.ptr());
  }
  Pipeline train(const training::Stage&, const Feed& feed) const override {
    return Pipeline::from(points(member.train))
        .order(Shuffled{.seed = config.seed})
        .batch({.size = feed.batch})
        .to(feed.device);
  }
  Pipeline evaluation(Split split, const Feed& feed) const override {
    return Pipeline::from(points(split == Split::test ? member.test : member.validation))
        .batch({.size = feed.batch})
        .to(feed.device);
  }
  Example example(const Batch& batch, const Moment& moment) const override {
    Example example = training::example_of_fields(batch, moment.device);
    const at::Tensor& label = label_of(example);
    example.present = (label == pairs[member.index].first) | (label == second());
    example.rows.reset();
    return example;
  }
  std::vector<training::Term> loss(const Output& output, const Example& example,
                                   const Moment&) const override {
    const at::Tensor target = (label_of(example) == second()).to(at::kLong);
    return {{.value = models::cross_entropy(output.main, target,
                                            {.weights = {.of_samples = example.present}})}};
  }
  std::unique_ptr<training::Metric> metric(Split, const TensorMap&) const override {
    return std::make_unique<PairMetric>(second());
  }
  std::vector<std::string> class_names() const override {
    return {class_words[pairs[member.index].first], class_words[second()]};
  }
  training::Selection selected_by() const override { return {"accuracy", training::Goal::maximum}; }
};

struct Recipe final : training::Recipe {
  explicit Recipe(const app::JobConfig& c) : config(c) {}
  const app::JobConfig& config;

  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::vector<Member> members() const override {
    std::vector<Member> all;
    for (const auto& [first, second] : pairs) {
      const std::vector<std::int64_t> rows = records_of({first, second});
      all.push_back({.index = static_cast<std::int64_t>(all.size()),
                     .name = "pair-" + std::to_string(first) + '-' + std::to_string(second),
                     .train = rows,
                     .validation = rows,
                     .test = rows});
    }
    return all;
  }
  std::unique_ptr<training::Course> begin(const Member& member) const override {
    return std::make_unique<Course>(config, member);
  }
  std::map<std::string, std::string> notes() const override {
    return {{"network", "two layers"}, {"class_names", R"(["north","east","west"])"}};
  }
  Pipeline prediction(const std::filesystem::path&, const Feed& feed) const override {
    return Pipeline::from(points(records_of({0, 1, 2})))
        .batch({.size = feed.batch})
        .to(feed.device);
  }
  std::vector<std::int64_t> test_on(const std::filesystem::path&, const std::string&) override {
    return records_of({0, 1, 2});
  }
  std::optional<std::vector<std::int64_t>> common_test(
      std::span<const Member> done) const override {
    if (done.size() < std::size(pairs)) return std::nullopt;
    return records_of({0, 1, 2});
  }
  Cases vote(std::span<const Cases> of_members, std::span<const TensorMap> fitted) const override {
    if (of_members.size() < std::size(pairs))
      throw ConfigError("[vote] all pairs must vote, got " + std::to_string(of_members.size()));
    Cases voted = of_members.front();
    voted.scores = at::zeros({voted.scores.size(0), classes});
    std::vector<at::Tensor> second;
    double trust = 0.0;
    for (std::size_t i = 0; i < std::size(pairs); ++i) {
      voted.scores.select(1, pairs[i].first).add_(of_members[i].scores.select(1, 0));
      voted.scores.select(1, pairs[i].second).add_(of_members[i].scores.select(1, 1));
      second.push_back(of_members[i].scores.select(1, 1));
      trust += fitted[i].at("trust").item<double>();
    }
    voted.scores.div_(3.0);
    voted.output = {};
    voted.output.extra.emplace("pairs", at::stack(second, 1));
    voted.output.extra.emplace("trust", at::full({voted.scores.size(0)}, trust));
    return voted;
  }
  std::vector<training::VoteMetric> metrics_of_vote(std::span<const TensorMap>) const override {
    std::vector<training::VoteMetric> all(2);
    all[0] = {.name = "soft", .metric = std::make_unique<training::ClassificationMetric>(classes)};
    all[1] = {.name = "hard", .metric = std::make_unique<HardVote>()};
    return all;
  }
  std::vector<training::Reason> reasons(const Cases& voted) const override {
    const auto [largest, places] = voted.scores.topk(2, 1);
    return {{.name = "margin", .values = largest.select(1, 0) - largest.select(1, 1)},
            {.name = "trust", .values = voted.output.extra.at("trust")}};
  }
};

struct Config final : app::JobConfig {};

}  // namespace

int main(int argc, char** argv) {
  return app::run_job_program<Config, Recipe>(
      argc, argv, {.name = "corners", .help = "points, told apart by their corner"});
}
