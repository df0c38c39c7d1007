#include <headrace/engine/base/error.h>
#include <headrace/training/evaluation/detail/evaluation_pass.h>
#include <headrace/training/evaluation/evaluation.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/memory/out_of_memory.h>
#include <headrace/training/optimizer/autocast.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
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
    NanCases nan = nan_;
    nan.add(cases);
    if (metric_) metric_->add(cases);
    nan_ = nan;
    add_unread(cases);
    seen_.push_back({.first = cases.first, .are_rows = cases.are_rows, .rows = cases.rows});
    if (!cases.are_rows) seen_.back().origins = cases.origins;
  }

  // The sums so far and those of these cases. Where none counts, no loss is a mean over them.
  LossMeans loss_with(const Cases& cases, const Moment& moment) const {
    LossMeans loss = loss_;
    if (!has_values(cases.output) || counted_rows(cases.example) == 0) return loss;
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
  // Cases that came together: the number of the first, and what names them.
  struct Seen {
    std::int64_t first = 0;
    bool are_rows = false;
    RowOrigins rows = {};
    std::vector<Origin> origins = {};
  };

  Evaluation figures_of_all() const {
    Evaluation evaluation{.samples = samples_};
    // Cases that were put together have no loss, nor have those of which none counts; a figure that
    // is none would select nothing.
    if (loss_.rows() > 0) evaluation.figures = loss_.figures();
    evaluation.no_numbers = no_numbers();
    if (unread_ > 0) evaluation.unread = {.cases = unread_, .first = name_of_case(first_unread_)};
    if (!metric_) return evaluation;
    const bool nan = evaluation.no_numbers.cases > 0;
    const Figures found = nan ? not_numbers(metric_->result()) : metric_->result();
    evaluation.figures.insert(evaluation.figures.end(), found.begin(), found.end());
    if (nan) return evaluation;
    evaluation.fitted = metric_->fitted();
    evaluation.confusion = metric_->confusion();
    return evaluation;
  }

  NoNumbers no_numbers() const {
    NoNumbers nothing{.cases = nan_.count()};
    if (nothing.cases > 0) nothing.first = name_of_case(nan_.first());
    return nothing;
  }

  void add_unread(const Cases& cases) {
    if (cases.unread.empty()) return;
    if (unread_ == 0) first_unread_ = cases.first + cases.unread.front();
    unread_ += std::ssize(cases.unread);
  }

  std::string name_of_case(std::int64_t number) const {
    const Seen& part = *std::prev(std::ranges::upper_bound(seen_, number, {}, &Seen::first));
    const std::vector<Origin> origins = part.are_rows ? part.rows.list() : part.origins;
    const auto place = static_cast<std::size_t>(number - part.first);
    if (place < origins.size() && !origins[place].file.empty()) return origins[place].file;
    return "sample " + std::to_string(number);
  }

  const Course& course_;
  const EvaluationOptions& options_;
  std::unique_ptr<Metric> metric_;
  NanCases nan_;
  std::int64_t unread_ = 0;
  std::int64_t first_unread_ = 0;
  std::vector<Seen> seen_;
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

// What they say together, with what was fitted by each; where one says nothing to vote by, what the
// first says.
Cases together(const Recipe& recipe, std::span<const Cases> of_each,
               std::span<const TensorMap> fitted) {
  const bool scored =
      std::ranges::all_of(of_each, [](const Cases& cases) { return cases.scores.defined(); });
  if (!scored) return of_each.front();
  std::vector<Cases> voters(of_each.begin(),
                            of_each.end());  // whose targets become the common ones
  return vote_of(recipe, voters, fitted);
}

// Whoever looks may have taken in some of them: they cannot be shown once more.
void give(const EvaluationOptions& options, const Cases& cases) {
  const auto lack = lack_in([&] { options.on_cases(cases); });
  if (lack)
    throw ResourceError("[memory] it ran out in what is made of the cases of " +
                        name_of(options.split) + ": " + *lack +
                        "; set a smaller training.evaluation_batch");
}

std::vector<TensorMap> fitted_by(std::span<const Voter> voters) {
  std::vector<TensorMap> fitted;
  for (const Voter& voter : voters)
    fitted.push_back(voter.fitted);
  return fitted;
}

// Cases that count with one voter at least; waits for the device where none says that all do.
std::int64_t samples_of(std::span<const Cases> of_each) {
  std::int64_t most = 0;
  for (const Cases& cases : of_each)
    most = std::max(most, counted_rows(cases.example));
  if (of_each.size() == 1 || most == case_count(of_each.front())) return most;
  const at::Tensor counted = counted_by_one(of_each);
  return counted.defined() ? counted.sum().item<std::int64_t>() : most;
}

}  // namespace

std::string UnreadRecords::words(std::int64_t samples) const {
  return std::to_string(cases) + " of " + std::to_string(samples + cases) +
         " records could not be read, the first " + first + "; figures are of the other " +
         std::to_string(samples);
}

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
  const std::vector<TensorMap> fitted = fitted_by(voters);
  std::vector<VoteMetric> metrics;
  if (voters.size() > 1) metrics = recipe.metrics_of_vote(fitted);
  const bool votes = !metrics.empty();
  VoteCounts counts(std::move(metrics));
  JointEvaluation evaluation;
  EvaluationPass::Looks looks = looks_of(name_of(options.split), figures);
  const auto count_votes = [&](std::span<Cases> of_each, const Moment&) {
    counts.add(together(recipe, of_each, fitted), of_each.front().first);
  };
  if (votes) looks.each.emplace(looks.each.begin(), count_votes);
  looks.each.emplace_back(
      [&](std::span<Cases> of_each, const Moment&) { evaluation.samples += samples_of(of_each); });
  if (options.on_cases)
    looks.each.emplace_back([&](std::span<Cases> of_each, const Moment&) {
      give(options, together(recipe, of_each, fitted));
    });
  EvaluationPass pass(voters, options, std::move(looks));
  if (!pass.run(loader, stop)) return std::nullopt;
  for (const MemberFigures& one : figures)
    evaluation.members.push_back(one.result(start, pass));
  const auto says_nothing = [](const Evaluation& one) { return one.no_numbers.cases > 0; };
  if (std::ranges::any_of(evaluation.members, says_nothing)) return evaluation;
  try_twice(options.device, [&] { evaluation.votes = counts.result(); });
  return evaluation;
}

bool predict_together(const Recipe& recipe, std::span<const Voter> voters, Loader& loader,
                      const EvaluationOptions& options, std::stop_token stop) {
  const std::vector<TensorMap> fitted = fitted_by(voters);
  const auto look = [&](std::span<Cases> of_each, const Moment&) {
    give(options, together(recipe, of_each, fitted));
  };
  return EvaluationPass(voters, options, {.who = "the prediction", .each = {look}})
      .run(loader, stop);
}

}  // namespace headrace::inline v1::training
