#include <headrace/apps/train/confusion_torch.h>
#include <headrace/apps/train/ensemble_torch.h>
#include <headrace/apps/train/evaluate_torch.h>
#include <headrace/apps/train/evaluation_report.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/training/vote.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {
namespace {

// What one member says of the data.
training::MemberScores judge(const Ensemble& ensemble, const Predictor& one,
                             const std::vector<std::int64_t>& records, EvaluationReport& report) {
  ReadyMember ready = ensemble.ready(one, records);
  training::ScoreKeeper keeper;
  // One alone has nobody to vote with; its scores may be large.
  if (ensemble.members().size() > 1)
    ready.options.on_cases = [&](const training::Cases& cases) { keeper.add(cases); };
  Loader loader = ready.course->evaluation(training::Split::test, ready.feed).build();
  const auto evaluation = training::evaluate(*ready.course, *ready.network, loader, ready.options);
  report.samples = evaluation->samples;
  report.members.push_back({.member = one.member.name,
                            .figures = evaluation->figures,
                            .confusion = named(evaluation->confusion, ensemble.class_names())});
  training::MemberScores scores = keeper.result();
  scores.member = one.member.index;
  scores.fitted = one.weights.fitted;
  return scores;
}

}  // namespace

ExitCode evaluate(const EvaluateOptions& options, const std::vector<Job>& jobs,
                  const MakeRecipe& make_recipe) {
  Ensemble ensemble(options.ensemble, jobs, make_recipe);
  const std::vector<std::int64_t> records = ensemble.recipe().test_on(options.data, options.split);
  EvaluationReport report{.data = options.data, .split = options.split};
  std::vector<training::MemberScores> scores;
  for (const Predictor& one : ensemble.members())
    scores.push_back(judge(ensemble, one, records, report));
  if (report.samples == 0)
    throw DataError("[evaluate] " + options.data.string() + " must hold samples, got none");
  if (scores.size() > 1)
    if (auto voted = training::vote_on_test(ensemble.recipe(), scores))
      report.vote = EvaluationReport::Line{.member = "vote", .figures = std::move(*voted)};
  if (!options.output.empty()) write_file_atomically(options.output, evaluation_json(report));
  std::fputs(evaluation_text(report).c_str(), stdout);
  std::fprintf(stderr, "evaluate: %lld samples%s\n", static_cast<long long>(report.samples),
               ensemble.votes().c_str());
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
