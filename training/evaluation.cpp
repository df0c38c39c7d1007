#include <headrace/engine/base/error.h>
#include <headrace/training/autocast.h>
#include <headrace/training/detail/evaluation_pass.h>
#include <headrace/training/evaluation.h>
#include <headrace/training/out_of_memory.h>
#include <headrace/training/vote.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::training {

namespace {

using Clock = std::chrono::steady_clock;

using detail::EvaluationPass;

std::string name_of(Split split) {
  return split == Split::test ? "the test" : "the validation";
}

// The figures of one member, case by case.
class MemberFigures {
 public:
  MemberFigures(const Course& course, const EvaluationOptions& options, const TensorMap& fitted)
      : course_(course), options_(options), metric_(course.metric(options.split, fitted)) {}

  void add_to_metric(const Cases& cases) {
    if (metric_) metric_->add(cases);
  }

  // The sums so far and those of these cases.
  LossMeans loss_with(const Cases& cases, const Moment& moment) const {
    LossMeans loss = loss_;
    if (!has_values(cases.output)) return loss;
    const Autocast autocast(options_.stage.precision, options_.device.type());
    loss.add(all_terms(course_, cases.output, cases.example, moment), cases.example);
    return loss;
  }

  void take(LossMeans loss, std::int64_t samples) {
    loss_ = std::move(loss);
    samples_ += samples;
  }

  Evaluation result(Clock::time_point start, const EvaluationPass& pass) const {
    Evaluation evaluation;
    try_twice(options_.device, [&] { evaluation = figures_of_all(); });
    evaluation.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    evaluation.full_seconds = pass.full_seconds(evaluation.seconds);
    return evaluation;
  }

 private:
  Evaluation figures_of_all() const {
    Evaluation evaluation{.samples = samples_};
    // Cases that were put together have no loss; a figure that is none would select nothing.
    if (loss_.rows() > 0 || !metric_) evaluation.figures = loss_.figures();
    if (metric_) {
      const Figures found = metric_->result();
      evaluation.figures.insert(evaluation.figures.end(), found.begin(), found.end());
      evaluation.fitted = metric_->fitted();
      evaluation.confusion = metric_->confusion();
    }
    return evaluation;
  }

  const Course& course_;
  const EvaluationOptions& options_;
  std::unique_ptr<Metric> metric_;
  LossMeans loss_;
  std::int64_t samples_ = 0;
};

// The figures of each voter. Counts come first: they are the same however rows are divided, also
// where memory runs out between both. The losses of all voters take the cases at once.
EvaluationPass::Looks looks_of(std::string who, std::deque<MemberFigures>& figures) {
  EvaluationPass::Looks looks{.who = std::move(who)};
  for (std::size_t i = 0; i < figures.size(); ++i)
    looks.each.emplace_back([&figures, i](std::span<Cases> of_each, const Moment&) {
      figures[i].add_to_metric(of_each[i]);
    });
  looks.each.emplace_back([&figures](std::span<Cases> of_each, const Moment& moment) {
    std::vector<LossMeans> losses;
    std::vector<std::int64_t> samples;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      losses.push_back(figures[i].loss_with(of_each[i], moment));
      samples.push_back(counted_rows(of_each[i].example));
    }
    for (std::size_t i = 0; i < figures.size(); ++i)
      figures[i].take(std::move(losses[i]), samples[i]);
  });
  return looks;
}

// What they say together; where one says nothing to vote by, what the first says.
Cases together(const Recipe& recipe, std::span<const Cases> of_each) {
  const bool scored =
      std::ranges::all_of(of_each, [](const Cases& cases) { return cases.scores.defined(); });
  if (!scored) return of_each.front();
  std::vector<Cases> voters(of_each.begin(),
                            of_each.end());  // whose targets become the common ones
  return vote_of(recipe, voters);
}

// Whoever looks may have taken in some of them: they cannot be shown once more.
void give(const EvaluationOptions& options, const Cases& cases) {
  const auto lack = lack_in([&] { options.on_cases(cases); });
  if (lack)
    throw ResourceError("[memory] it ran out in what is made of the cases of " +
                        name_of(options.split) + ": " + *lack +
                        "; set a smaller training.evaluation_batch");
}

std::unique_ptr<Metric> metric_of_votes(const Recipe& recipe, std::span<const Voter> voters) {
  if (voters.size() < 2) return nullptr;
  std::vector<TensorMap> fitted;
  for (const Voter& voter : voters)
    fitted.push_back(voter.fitted);
  return recipe.metric_of_vote(fitted);
}

}  // namespace

std::optional<Evaluation> evaluate(const Course& course, models::Network& network, Loader& loader,
                                   const EvaluationOptions& options, std::stop_token stop) {
  const auto start = Clock::now();
  std::deque<MemberFigures> figures;
  figures.emplace_back(course, options, options.fitted);
  EvaluationPass::Looks looks = looks_of(name_of(options.split), figures);
  if (options.on_cases)
    looks.each.emplace_back(
        [&](std::span<Cases> cases, const Moment&) { give(options, cases.front()); });
  const Voter alone{.course = course, .network = network, .member = -1};
  EvaluationPass pass({&alone, 1}, options, std::move(looks));
  if (!pass.run(loader, stop)) return std::nullopt;
  return figures.front().result(start, pass);
}

std::optional<JointEvaluation> evaluate_together(const Recipe& recipe,
                                                 std::span<const Voter> voters, Loader& loader,
                                                 const EvaluationOptions& options,
                                                 std::stop_token stop) {
  const auto start = Clock::now();
  std::deque<MemberFigures> figures;
  for (const Voter& voter : voters)
    figures.emplace_back(voter.course, options, voter.fitted);
  const std::unique_ptr<Metric> metric = metric_of_votes(recipe, voters);
  bool voted = metric != nullptr;
  EvaluationPass::Looks looks = looks_of(name_of(options.split), figures);
  const auto count_votes = [&](std::span<Cases> of_each, const Moment&) {
    const Cases all = together(recipe, of_each);
    voted = voted && all.scores.defined() && !all.example.targets.empty();
    if (voted) metric->add(all);
  };
  if (metric) looks.each.emplace(looks.each.begin(), count_votes);
  if (options.on_cases)
    looks.each.emplace_back(
        [&](std::span<Cases> of_each, const Moment&) { give(options, together(recipe, of_each)); });
  EvaluationPass pass(voters, options, std::move(looks));
  if (!pass.run(loader, stop)) return std::nullopt;
  JointEvaluation evaluation;
  for (const MemberFigures& one : figures)
    evaluation.members.push_back(one.result(start, pass));
  if (voted) try_twice(options.device, [&] { evaluation.vote = metric->result(); });
  return evaluation;
}

bool predict_together(const Recipe& recipe, std::span<const Voter> voters, Loader& loader,
                      const EvaluationOptions& options, std::stop_token stop) {
  const auto look = [&](std::span<Cases> of_each, const Moment&) {
    give(options, together(recipe, of_each));
  };
  return EvaluationPass(voters, options, {.who = "the prediction", .each = {look}})
      .run(loader, stop);
}

}  // namespace headrace::inline v1::training
