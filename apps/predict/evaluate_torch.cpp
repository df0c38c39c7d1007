#include <headrace/apps/backend/confusion_torch.h>
#include <headrace/apps/backend/ensemble_torch.h>
#include <headrace/apps/backend/gallery_torch.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/learn/placed_records_torch.h>
#include <headrace/apps/predict/evaluation_report.h>
#include <headrace/apps/predict/predict_torch.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/result_file.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {
namespace {

void require_pictures(const EvaluateOptions& options, Ensemble& ensemble, const Team& team) {
  if (options.worst.empty()) return;
  if (!team.course().shows_pictures())
    throw ConfigError("[evaluate] --worst: the kind " + ensemble.job().name +
                      " has no pictures to draw; leave it out");
  if (ensemble.recipe().metrics_of_vote(team.fitted()).empty())
    throw ConfigError(
        "[evaluate] --worst is of what all members say together, of which some are missing; name "
        "the "
        "run's folder, once all are trained");
  if (options.worst.extension() != ".png")
    throw ConfigError("[evaluate] --worst must be a file that ends in .png, got " +
                      options.worst.string());
}

void require_own_part(const std::string& split) {
  if (!split.empty() && split != "test")
    throw ConfigError("[evaluate] --split " + split +
                      ": of the run's own data the test is judged; name the data (--data) for "
                      "another part");
}

// Of what members have learnt from; none where they are of a release that kept none, or of a job
// that cannot say.
std::optional<SeenRecords> seen_of(Ensemble& ensemble, const std::vector<std::int64_t>& records) {
  const auto* placed = dynamic_cast<const PlacedRecords*>(&ensemble.recipe());
  if (placed == nullptr) return std::nullopt;
  std::vector<KnownRecords> known;
  for (const Predictor& one : ensemble.members()) {
    auto own = KnownRecords::read(one.file.parent_path() / known_records_file);
    if (!own) return std::nullopt;
    known.push_back(std::move(*own));
  }
  return seen_records(known, placed->placed(training::Split::test, records));
}

// The part that was judged, by its name.
std::string part_of(const EvaluateOptions& options, Ensemble& ensemble) {
  if (options.data.empty()) return "test";
  const auto* placed = dynamic_cast<const PlacedRecords*>(&ensemble.recipe());
  return placed != nullptr ? placed->judged_part() : options.split;
}

// The figures of each member and of all together, in one pass.
EvaluationReport report_of(EvaluationReport report, const Ensemble& ensemble, const Team& team,
                           const training::JointEvaluation& evaluation) {
  report.samples = evaluation.samples;
  report.unread = evaluation.members.front().unread.cases;
  for (std::size_t i = 0; i < evaluation.members.size(); ++i) {
    const training::Evaluation& one = evaluation.members[i];
    const Predictor& member = ensemble.members()[i];
    report.members.push_back({.member = member.member.name,
                              .figures = one.figures,
                              .confusion = named(one.confusion, class_names(team.voters()[i].course,
                                                                            member.weights.notes)),
                              .nan = one.no_numbers.cases,
                              .first_nan = one.no_numbers.first});
  }
  for (const training::VoteFigures& vote : evaluation.votes)
    report.votes.push_back({.member = vote.name.empty() ? "vote" : vote.name,
                            .figures = vote.figures,
                            .confusion = named(vote.confusion, ensemble.class_names())});
  return report;
}

// How many of how many.
std::string samples_of(const EvaluationReport& report) {
  const std::string judged = std::to_string(report.samples);
  if (report.unread == 0) return judged + " samples";
  return judged + " of " + std::to_string(report.samples + report.unread) +
         " samples (the others could not be read)";
}

// Names the members that give no numbers.
ExitCode end_of(const training::JointEvaluation& evaluation, const Ensemble& ensemble) {
  ExitCode end = ExitCode::done;
  for (std::size_t i = 0; i < evaluation.members.size(); ++i) {
    const training::Evaluation& one = evaluation.members[i];
    if (one.no_numbers.cases == 0) continue;
    end = ExitCode::numeric;
    std::fprintf(stderr, "evaluate: %s gives %s; no figure of it is a number%s\n",
                 ensemble.members()[i].member.name.c_str(),
                 one.no_numbers.words(one.samples).c_str(),
                 evaluation.members.size() > 1 ? ", and nothing is voted with it" : "");
  }
  for (const training::VoteFigures& vote : evaluation.votes) {
    if (vote.nan == 0) continue;
    end = ExitCode::numeric;
    std::fprintf(stderr, "evaluate: the vote%s%s gives NaN for %lld records\n",
                 vote.name.empty() ? "" : " ", vote.name.c_str(), static_cast<long long>(vote.nan));
  }
  return end;
}

}  // namespace

ExitCode evaluate(const EvaluateOptions& options, const std::vector<Job>& jobs,
                  const MakeRecipe& make_recipe) {
  const ResultFile output(options.output, "[evaluate] --output", {options.data});
  const ResultFile worst(options.worst, "[evaluate] --worst", {options.data, options.output});
  Ensemble ensemble(options.ensemble, jobs, make_recipe);
  const bool own = options.data.empty();
  if (own) require_own_part(options.split);
  set_root(ensemble.recipe(), options.root, options.data, "evaluate");
  std::vector<std::int64_t> records;
  if (!own) records = ensemble.recipe().test_on(options.data, options.split);
  const Team team = own ? ensemble.ready_on_own_test(records) : ensemble.ready(records);
  require_pictures(options, ensemble, team);
  Loader loader = team.course()
                      .evaluation(training::Split::test, ensemble.feed(team))
                      .on_bad_sample(unread_records({}))
                      .build({.log = &warn_of_data});
  training::EvaluationOptions pass = team.options(ensemble.device());
  std::optional<GalleryKeeper> gallery;
  if (!options.worst.empty()) {
    gallery.emplace(ensemble.recipe(), team.course(), team.fitted(),
                    GalleryKeeper::Options{.classes = ensemble.class_names(), .some = 0});
    pass.on_cases = [&](const training::Cases& cases) { gallery->add(cases); };
  }
  const auto evaluation =
      training::evaluate_together(ensemble.recipe(), team.voters(), loader, pass);
  const EvaluationReport report = report_of({.data = options.data,
                                             .split = part_of(options, ensemble),
                                             .seen = seen_of(ensemble, records)},
                                            ensemble, team, *evaluation);
  if (report.samples == 0)
    throw DataError("[evaluate] " + (own ? "the run's own test" : options.data.string()) +
                    " must hold samples, got none" +
                    (report.unread > 0
                         ? " that can be read; the first is " +
                               evaluation->members.front().unread.first + ", its cause is above"
                         : std::string()));
  if (const std::string seen = seen_text(report); !seen.empty())
    log_data(headrace::LogLevel::warning, seen);
  if (own && !report.seen)
    log_data(headrace::LogLevel::warning,
             "[evaluate] the run has kept no list of its records: whether its data are divided as "
             "then is not known, and this test may hold records that it has learnt from");
  if (!options.output.empty()) output.write(evaluation_json(report));
  if (gallery) worst.write(worst_png(gallery->result()));
  std::fputs(evaluation_text(report).c_str(), stdout);
  std::fprintf(stderr, "evaluate: %s%s\n", samples_of(report).c_str(), ensemble.votes().c_str());
  return end_of(*evaluation, ensemble);
}

}  // namespace headrace::inline v1::app
