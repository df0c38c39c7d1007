#include <headrace/training/autocast.h>
#include <headrace/training/detail/evaluation_pass.h>
#include <headrace/training/evaluation.h>
#include <headrace/training/vote.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

namespace headrace::inline v1::training {

namespace {

using Clock = std::chrono::steady_clock;

// The figures of one member, case by case.
class MemberFigures {
 public:
  MemberFigures(const Course& course, const EvaluationOptions& options, const TensorMap& fitted)
      : course_(course), options_(options), metric_(course.metric(options.split, fitted)) {}

  void add(const Cases& cases, const Moment& moment) {
    samples_ += counted_rows(cases.example);
    if (has_values(cases.output)) {
      const Autocast autocast(options_.stage.precision, options_.device.type());
      loss_.add(all_terms(course_, cases.output, cases.example, moment), cases.example);
    }
    if (metric_) metric_->add(cases);
  }

  Evaluation result(Clock::time_point start, const detail::EvaluationPass& pass) const {
    Evaluation evaluation{.samples = samples_};
    // Cases that were put together have no loss; a figure that is none would select nothing.
    if (loss_.rows() > 0 || !metric_) evaluation.figures = loss_.figures();
    if (metric_) {
      const Figures found = metric_->result();
      evaluation.figures.insert(evaluation.figures.end(), found.begin(), found.end());
      evaluation.fitted = metric_->fitted();
      evaluation.confusion = metric_->confusion();
    }
    evaluation.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    evaluation.full_seconds = pass.full_seconds(evaluation.seconds);
    return evaluation;
  }

 private:
  const Course& course_;
  const EvaluationOptions& options_;
  std::unique_ptr<Metric> metric_;
  LossMeans loss_;
  std::int64_t samples_ = 0;
};

// What they say together; where one says nothing to vote by, what the first says.
Cases together(const Recipe& recipe, std::span<Cases> of_each) {
  const bool scored =
      std::ranges::all_of(of_each, [](const Cases& cases) { return cases.scores.defined(); });
  return scored ? vote_of(recipe, of_each) : of_each.front();
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
  MemberFigures figures(course, options, options.fitted);
  const auto look = [&](std::span<Cases> cases, const Moment& moment) {
    figures.add(cases.front(), moment);
    if (options.on_cases) options.on_cases(cases.front());
  };
  const Voter alone{.course = course, .network = network, .member = -1};
  detail::EvaluationPass pass({&alone, 1}, options, look);
  if (!pass.run(loader, stop)) return std::nullopt;
  return figures.result(start, pass);
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
  const auto look = [&](std::span<Cases> of_each, const Moment& moment) {
    for (std::size_t i = 0; i < of_each.size(); ++i)
      figures[i].add(of_each[i], moment);
    if (!metric && !options.on_cases) return;
    const Cases all = together(recipe, of_each);
    voted = voted && all.scores.defined() && !all.example.targets.empty();
    if (voted) metric->add(all);
    if (options.on_cases) options.on_cases(all);
  };
  detail::EvaluationPass pass(voters, options, look);
  if (!pass.run(loader, stop)) return std::nullopt;
  JointEvaluation evaluation;
  for (const MemberFigures& one : figures)
    evaluation.members.push_back(one.result(start, pass));
  if (voted) evaluation.vote = metric->result();
  return evaluation;
}

bool predict_together(const Recipe& recipe, std::span<const Voter> voters, Loader& loader,
                      const EvaluationOptions& options, std::stop_token stop) {
  const auto look = [&](std::span<Cases> of_each, const Moment&) {
    options.on_cases(together(recipe, of_each));
  };
  return detail::EvaluationPass(voters, options, look).run(loader, stop);
}

}  // namespace headrace::inline v1::training
