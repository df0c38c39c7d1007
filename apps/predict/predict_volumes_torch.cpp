#include <headrace/apps/figures/dice_table.h>
#include <headrace/apps/predict/cases_to_predict.h>
#include <headrace/apps/predict/predict_torch.h>
#include <headrace/apps/predict/predicted_volume.h>
#include <headrace/apps/predict/volume_output.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/task/find_volume_cases.h>
#include <headrace/apps/task/volume_set.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <stop_token>
#include <vector>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

class VolumesPrediction {
 public:
  VolumesPrediction(const PredictOptions& options, Ensemble& ensemble, VolumePredictor& recipe)
      : options_(options),
        ensemble_(ensemble),
        recipe_(recipe),
        task_(recipe.volume_task()),
        cases_(find_volume_cases(options.data, {.channels = task_.channels,
                                                .labels = options.labels,
                                                .follow_links = task_.follow_links})),
        dice_(ensemble.class_names()) {}

  ExitCode run() {
    require_names();
    require_apart_of_cases(options_.output, cases_);
    require_shapes_of_labels(cases_);
    VolumeOutput output(options_.output, options_.overwrite);
    const StopSignals signals;
    seen_ = prepare_to_predict(
        cases_, {.folder = output.prepared(), .threads = task_.threads, .stop = signals.token()},
        task_.volume.preparation);
    if (!signals.token().stop_requested() && write_all(output, signals.token()))
      return done(output);
    output.stay();
    std::fprintf(stderr,
                 "predict: stopped after %zu of %zu volumes; the same command goes on with what is "
                 "prepared\n",
                 written_, cases_.size());
    return signals.exit_code();
  }

 private:
  void require_names() const {
    std::set<fs::path> names;
    for (const NnUNetCase& one : cases_)
      if (!names.insert(prediction_name(one)).second)
        throw ConfigError("[predict] " + options_.data.string() +
                          ": each case must have a name "
                          "of its own, got two of " +
                          one.name);
  }

  // False where it was stopped.
  bool write_all(VolumeOutput& output, const std::stop_token& stop) {
    for (const NnUNetCase& one : seen_.empty) {
      log_data(headrace::LogLevel::warning,
               "[predict] " + one.images.front().string() +
                   ": is 0 everywhere; the label of all its voxels becomes 0");
      write(output, one, background(one.images.front(), task_.classes));
    }
    if (seen_.cases.empty()) return true;
    const Team team =
        ensemble_.ready(recipe_.test_on(open_prepared(seen_.prepared, task_.volume, task_.ignore)));
    decision_ = recipe_.decision(team.fitted());
    require_predictable(seen_.prepared, decision_);
    training::EvaluationOptions pass = team.options(ensemble_.device());
    pass.on_cases = [&](const training::Cases& cases) { write(output, cases); };
    Loader loader = team.course().evaluation(training::Split::test, ensemble_.feed(team)).build();
    return training::predict_together(ensemble_.recipe(), team.voters(), loader, pass, stop);
  }

  void write(VolumeOutput& output, const training::Cases& cases) {
    const at::Tensor scores = cases.scores.to(at::kCPU, at::kFloat).contiguous();
    if (scores.dim() != 5 || scores.size(0) != 1 || cases.origins.size() != 1)
      throw ConfigError(
          "[predict] volumes need scores [1, classes, z, y, x] of a volume whose "
          "number is known; this kind has others");
    const auto number = static_cast<std::size_t>(cases.origins.front().index);
    if (training::rows_with_nan(scores).item<bool>()) {
      const NnUNetCase& one = seen_.cases.at(number);
      output.leave_out(prediction_name(one));
      if (nothing_.cases++ == 0) nothing_.first = one.name;
      return;
    }
    write(output, seen_.cases.at(number),
          predicted_volume(
              {.values = {scores.const_data_ptr<float>(), static_cast<std::size_t>(scores.numel())},
               .classes = scores.size(1),
               .extent = {scores.size(2), scores.size(3), scores.size(4)}},
              seen_.prepared.at(number), decision_));
  }

  // A label that cannot be compared with costs the case its Dice, and nothing else.
  void write(VolumeOutput& output, const NnUNetCase& one, const PredictedVolume& predicted) {
    if (!one.label.empty()) {
      try {
        dice_.add(one.name, overlaps_with(predicted, one.label, task_.classes, task_.ignore));
      } catch (const DataError& wrong) {
        ++wrong_labels_;
        log_data(headrace::LogLevel::warning,
                 "[predict] case " + one.name + " gets no Dice: " + wrong.what());
      }
    }
    output.write(prediction_name(one), predicted);
    ++written_;
  }

  ExitCode done(VolumeOutput& output) const {
    if (!dice_.empty() || wrong_labels_ > 0) output.write("dice.csv", dice_.csv());
    if (!dice_.empty()) std::fputs(dice_.text().c_str(), stdout);
    std::fprintf(stderr, "predict: %zu volumes%s, in %s\n", written_, ensemble_.votes().c_str(),
                 options_.output.string().c_str());
    const ExitCode end = end_of_prediction(nothing_, static_cast<std::int64_t>(cases_.size()));
    if (wrong_labels_ == 0 || end != ExitCode::done) return end;
    std::fprintf(stderr,
                 "predict: %zu of the labels could not be compared with, see above; their volumes "
                 "are written\n",
                 wrong_labels_);
    return ExitCode::data;
  }

  const PredictOptions& options_;
  Ensemble& ensemble_;
  VolumePredictor& recipe_;
  VolumeTask task_;
  VolumeDecision decision_{};
  std::vector<NnUNetCase> cases_;
  CasesToPredict seen_;
  DiceTable dice_;
  std::size_t written_ = 0;
  std::size_t wrong_labels_ = 0;
  training::NoNumbers nothing_{};
};

}  // namespace

ExitCode predict_volumes(const PredictOptions& options, Ensemble& ensemble,
                         VolumePredictor& recipe) {
  return VolumesPrediction(options, ensemble, recipe).run();
}

}  // namespace headrace::inline v1::app
