#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/retinopathy/pair_course_torch.h>
#include <headrace/apps/jobs/retinopathy/pair_metric_torch.h>
#include <headrace/apps/jobs/retinopathy/recipe_torch.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/task_recipe_torch.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/temperature.h>
#include <headrace/training/errors.h>
#include <headrace/training/metrics/kept_rows.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using models::ClassPair;
using models::VoteScheme;

constexpr const char* class_counts = "class_counts";

std::string name_of(const ClassPair& pair) {
  return "pair-" + std::to_string(pair.first) + '-' + std::to_string(pair.second);
}

// Of these rows those of the two classes. `labels` are the rows' own.
std::vector<std::int64_t> rows_of(const ClassPair& pair, const std::vector<std::int64_t>& rows,
                                  const std::vector<std::int64_t>& labels) {
  std::vector<std::int64_t> of_pair;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (labels[i] == pair.first || labels[i] == pair.second) of_pair.push_back(rows[i]);
  return of_pair;
}

void require_each(const char* key, const std::vector<double>& values, std::size_t classes) {
  if (values.empty() || values.size() == classes) return;
  throw ConfigError(std::string("[config] ") + key + " must have a value for each of " +
                    std::to_string(classes) + " classes, got " + std::to_string(values.size()));
}

// Of a case of which a pair's network gives no number the vote says nothing.
bool has_nan(std::span<const double> pairs) {
  return std::ranges::any_of(pairs, [](double p) { return std::isnan(p); });
}

double fitted_value(const training::TensorMap& fitted, const char* name, double otherwise) {
  const auto found = fitted.find(name);
  return found == fitted.end() ? otherwise : found->second.item<double>();
}

// Takes each pair's probabilities, [N, pairs], through the temperature of its validation.
void calibrate(const at::Tensor& pairs, std::span<const training::TensorMap> fitted) {
  auto values = pairs.accessor<double, 2>();
  for (std::int64_t pair = 0; pair < pairs.size(1); ++pair) {
    const double temperature =
        fitted_value(fitted[static_cast<std::size_t>(pair)], fitted_temperature, 1.0);
    for (std::int64_t row = 0; row < pairs.size(0); ++row)
      values[row][pair] = models::tempered(values[row][pair], temperature);
  }
}

// Raises the winner's score above all others, by as little as can be where they tie.
void put_first(std::span<float> scores, std::int64_t winner) {
  const float largest = *std::ranges::max_element(scores);
  float& of_winner = scores[static_cast<std::size_t>(winner)];
  if (of_winner >= largest && std::ranges::count(scores, largest) == 1) return;
  of_winner = std::nextafter(largest, std::numeric_limits<float>::infinity());
}

void require_all(std::span<const training::Cases> of_members, const std::vector<ClassPair>& pairs) {
  std::string missing;
  int count = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (std::ranges::find(of_members, static_cast<std::int64_t>(i), &training::Cases::member) ==
        of_members.end())
      missing += (count++ == 0 ? "" : ", ") + name_of(pairs[i]);
  if (count == 0) return;
  throw ConfigError("[vote] the networks of all " + std::to_string(pairs.size()) +
                    " pairs must vote, got " + std::to_string(of_members.size()) + ": " + missing +
                    (count > 1 ? " are" : " is") +
                    " missing; train all of them, and name the run's folder");
}

}  // namespace

RetinopathyRecipe::RetinopathyRecipe(std::shared_ptr<const RetinopathyConfig> config, Device device)
    : ClassRecipe(config, /*ordinal=*/true, device), config_(std::move(config)) {}

monitor::MemoryForecast RetinopathyRecipe::plan() {
  monitor::MemoryForecast forecast = ClassRecipe::plan();
  if (!config_->pairs()) return forecast;
  const SplitParts& all = records().members.front();
  const auto labels_of = [](const RecordSet& set, const std::vector<std::int64_t>& rows) {
    return rows.empty() ? std::vector<std::int64_t>() : labels_at(*set.source, rows);
  };
  const auto train = labels_of(records().train, all.train);
  const auto validation = labels_of(records().validation, all.validation);
  const auto test = labels_of(records().test, all.test);
  pairs_.clear();
  for (const ClassPair& pair : models::class_pairs(class_count()))
    pairs_.push_back({.index = static_cast<std::int64_t>(pairs_.size()),
                      .name = name_of(pair),
                      .train = rows_of(pair, all.train, train),
                      .validation = rows_of(pair, all.validation, validation),
                      .test = rows_of(pair, all.test, test)});
  test_ = all.test;
  frequency_ = count_classes(*records().train.source, all.train);
  require_records();
  return forecast;
}

void RetinopathyRecipe::check_task() const {
  if (!config_->pairs()) return ClassRecipe::check_task();
  if (multi_label())
    throw ConfigError(
        "[config] method: one_vs_one is of records of one class each, but these may have several; "
        "use the kind classification");
  if (class_count() < 3)
    throw ConfigError("[config] method: one_vs_one needs three classes or more, there are " +
                      std::to_string(class_count()) + "; set method: multi_class");
  require_loss(task().loss, true, "a pair's network has one output (method: one_vs_one)");
  require_each("vote.class_weights", config_->vote.class_weights, classes().size());
  require_each("vote.boosts", config_->vote.boosts, classes().size());
  if (!std::holds_alternative<PlainThreshold>(task().predict.threshold))
    throw ConfigError(
        "[config] predict.threshold: must be none with method: one_vs_one, whose networks vote; "
        "vote.calibrate fits a temperature for each");
}

void RetinopathyRecipe::require_records() const {
  const std::string of_epoch = task().data.epoch_size > 0 ? " (data.epoch_size)" : "";
  const bool validates = !records().members.front().validation.empty();
  const std::vector<ClassPair> pairs = models::class_pairs(class_count());
  for (const training::Member& pair : pairs_) {
    const auto samples = task().data.samples_of(static_cast<std::int64_t>(pair.train.size()));
    for (const training::Stage& stage : stages_of(*config_))
      require_batch(" of " + pair.name + of_epoch, samples, stage.batch);
    const auto counts = count_classes(*records().validation.source, pair.validation);
    const ClassPair of = pairs.at(static_cast<std::size_t>(pair.index));
    for (const std::int64_t one : {of.first, of.second})
      if (validates && counts[static_cast<std::size_t>(one)] == 0)
        throw ConfigError(
            "[config] data.validation: must have a record of each class, has none of \"" +
            classes()[static_cast<std::size_t>(one)] + "\", so that " + pair.name +
            " would be judged by one class alone; add some, or raise "
            "data.split.validation");
  }
}

std::vector<training::Member> RetinopathyRecipe::members() const {
  return config_->pairs() ? pairs_ : ClassRecipe::members();
}

std::unique_ptr<training::Course> RetinopathyRecipe::begin(const training::Member& member) const {
  if (!config_->pairs()) return ClassRecipe::begin(member);
  const std::vector<ClassPair> pairs = models::class_pairs(class_count());
  if (member.index < 0 || member.index >= static_cast<std::int64_t>(pairs.size()))
    throw training::CheckpointError("[weights] the member must be one of " +
                                    std::to_string(pairs.size()) + " pairs, got number " +
                                    std::to_string(member.index));
  const ClassPair& pair = pairs[static_cast<std::size_t>(member.index)];
  PictureCourse::Parts all = parts(member);
  if (all.trains) {
    const auto counts = count_classes(*records().train.source, member.train);
    all.loss.positive_weights =
        weights_on(device(), loss_weights(task().imbalance.weights,
                                          {counts[static_cast<std::size_t>(pair.second)]},
                                          static_cast<std::int64_t>(member.train.size()), true));
  }
  const bool sees_others =
      !member.test.empty() &&
      rows_of(pair, member.test, labels_at(*records().test.source, member.test)) != member.test;
  return std::make_unique<PairCourse>(std::move(all), pair, classes(), sees_others);
}

std::map<std::string, std::string> RetinopathyRecipe::notes() const {
  std::map<std::string, std::string> notes = ClassRecipe::notes();
  if (config_->pairs()) notes[class_counts] = nlohmann::json(frequency_).dump();
  return notes;
}

void RetinopathyRecipe::recall(const std::map<std::string, std::string>& notes) {
  ClassRecipe::recall(notes);
  if (!config_->pairs()) return;
  const nlohmann::json counts = nlohmann::json::parse(note_of(notes, class_counts), nullptr, false);
  const auto is_count = [](const nlohmann::json& one) { return one.is_number_unsigned(); };
  if (!counts.is_array() || counts.size() != classes().size() ||
      !std::ranges::all_of(counts, is_count))
    throw training::CheckpointError(
        "[weights] note \"class_counts\" must be a number for each class, got " + counts.dump());
  frequency_ = counts.get<std::vector<std::int64_t>>();
}

std::optional<std::vector<std::int64_t>> RetinopathyRecipe::common_test(
    std::span<const training::Member> done) const {
  if (!config_->pairs()) return ClassRecipe::common_test(done);
  if (done.size() < pairs_.size()) return std::nullopt;
  return test_;
}

models::OneVsOneVote RetinopathyRecipe::vote_with(
    std::span<const training::TensorMap> fitted) const {
  models::VoteOptions options{.classes = class_count(),
                              .class_weights = config_->vote.class_weights,
                              .boosts = config_->vote.boosts,
                              .prior = {frequency_.begin(), frequency_.end()}};
  for (const training::TensorMap& one : fitted)
    options.accuracies.push_back(fitted_value(one, fitted_accuracy, 1.0));
  return models::OneVsOneVote(std::move(options));
}

training::Cases RetinopathyRecipe::vote(std::span<const training::Cases> of_members,
                                        std::span<const training::TensorMap> fitted) const {
  if (!config_->pairs()) return ClassRecipe::vote(of_members, fitted);
  require_all(of_members, models::class_pairs(class_count()));
  std::vector<at::Tensor> second;
  for (const training::Cases& cases : of_members)
    second.push_back(cases.scores.select(1, 1));
  const at::Tensor pairs = at::stack(second, 1).to(at::kCPU, at::kDouble);
  if (config_->vote.calibrate) calibrate(pairs, fitted);
  training::Cases voted = of_members.front();
  voted.scores = scores_of(pairs, vote_with(fitted)).to(of_members.front().scores.device());
  voted.output = {};
  voted.output.extra.emplace(pairs_of_vote, pairs);
  return voted;
}

at::Tensor RetinopathyRecipe::scores_of(const at::Tensor& pairs,
                                        const models::OneVsOneVote& vote) const {
  const std::int64_t classes = class_count();
  at::Tensor scores = at::empty({pairs.size(0), classes}, at::kFloat);
  const auto all = training::values_of<double>(pairs);
  const std::size_t each = vote.pairs().size();
  for (std::int64_t row = 0; row < pairs.size(0); ++row) {
    const auto second = all.subspan(static_cast<std::size_t>(row) * each, each);
    if (has_nan(second)) {
      scores[row].fill_(std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const std::vector<double> of_classes = vote.scores(config_->vote.by, second);
    const double sum = std::accumulate(of_classes.begin(), of_classes.end(), 0.0);
    const std::span<float> out(scores.mutable_data_ptr<float>() + row * classes, of_classes.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] =
          static_cast<float>(sum > 0.0 ? of_classes[i] / sum : 1.0 / static_cast<double>(classes));
    put_first(out, vote.winner(of_classes, second));
  }
  return scores;
}

std::vector<training::VoteMetric> RetinopathyRecipe::metrics_of_vote(
    std::span<const training::TensorMap> fitted) const {
  if (!config_->pairs()) return ClassRecipe::metrics_of_vote(fitted);
  if (fitted.size() != models::class_pairs(class_count()).size()) return {};
  constexpr std::array all{VoteScheme::coupling, VoteScheme::soft, VoteScheme::hard,
                           VoteScheme::confidence, VoteScheme::weighted};
  std::vector<VoteScheme> schemes{config_->vote.by};
  for (const VoteScheme scheme : all)
    if (scheme != config_->vote.by) schemes.push_back(scheme);
  std::vector<training::VoteMetric> metrics;
  for (const VoteScheme scheme : schemes)
    metrics.push_back(
        {.name = name_of(scheme),
         .metric = std::make_unique<SchemeMetric>(scheme, vote_with(fitted), class_count())});
  return metrics;
}

std::vector<training::Reason> RetinopathyRecipe::reasons(const training::Cases& voted) const {
  const auto pairs = voted.output.extra.find(pairs_of_vote);
  if (pairs == voted.output.extra.end()) return ClassRecipe::reasons(voted);
  std::vector<training::Reason> reasons;
  std::int64_t column = 0;
  for (const ClassPair& pair : models::class_pairs(class_count()))
    reasons.push_back({.name = "p_" + classes()[static_cast<std::size_t>(pair.second)] + "_over_" +
                               classes()[static_cast<std::size_t>(pair.first)],
                       .values = pairs->second.select(1, column++).to(at::kFloat)});
  const auto [best, places] = voted.scores.topk(2, 1);
  reasons.push_back({.name = "margin", .values = best.select(1, 0) - best.select(1, 1)});
  return reasons;
}

at::Tensor RetinopathyRecipe::predicted(const at::Tensor& scores,
                                        std::span<const training::TensorMap> fitted) const {
  if (!config_->pairs()) return ClassRecipe::predicted(scores, fitted);
  return at::argmax(scores, 1);
}

std::unique_ptr<training::Recipe> retinopathy_recipe(const JobConfig& config, Device device) {
  return std::make_unique<RetinopathyRecipe>(
      std::make_shared<const RetinopathyConfig>(dynamic_cast<const RetinopathyConfig&>(config)),
      device);
}

}  // namespace headrace::inline v1::app
