#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/train/dice_table.h>
#include <headrace/apps/train/output_folder.h>
#include <headrace/apps/train/predict_volumes_torch.h>
#include <headrace/apps/train/predicted_volume.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/volume/write_prediction.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Folder that is gone with it.
class HiddenFolder {
 public:
  explicit HiddenFolder(fs::path path) : path_(std::move(path)) {}
  HiddenFolder(const HiddenFolder&) = delete;
  HiddenFolder& operator=(const HiddenFolder&) = delete;
  ~HiddenFolder() {
    std::error_code failed;
    fs::remove_all(path_, failed);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class VolumesPrediction {
 public:
  VolumesPrediction(const PredictOptions& options, Ensemble& ensemble, VolumePredictor& recipe)
      : options_(options),
        ensemble_(ensemble),
        recipe_(recipe),
        task_(recipe.volume_task()),
        cases_(find_volume_cases(options.data, task_.channels, /*judged=*/false, options.labels)),
        dice_(ensemble.class_names()) {}

  ExitCode run() {
    require_output();
    make_folder("predict", options_.output);
    const HiddenFolder hidden(options_.output / ".prepared");
    prepared_ = prepare(hidden.path());
    const Team team = ensemble_.ready(recipe_.test_on(
        open_prepared(options_.data.string(), prepared_, task_.volume, task_.ignore)));
    training::EvaluationOptions pass = team.options(ensemble_.device());
    pass.on_cases = [&](const training::Cases& cases) { write(cases); };
    Loader loader = team.course().evaluation(training::Split::test, ensemble_.feed(team)).build();
    training::predict_together(ensemble_.recipe(), team.voters(), loader, pass);
    say_dice();
    std::fprintf(stderr, "predict: %zu volumes%s, in %s\n", prepared_.size(),
                 ensemble_.votes().c_str(), options_.output.string().c_str());
    return ExitCode::done;
  }

 private:
  void require_output() const {
    require_output_folder(options_.output, options_.overwrite, "a volume", "case");
    require_apart(options_.output, cases_.front().images.front().parent_path(), "volume");
    std::set<fs::path> names;
    for (const NnUNetCase& one : cases_)
      if (!names.insert(prediction_name(one)).second)
        throw ConfigError("[predict] " + options_.data.string() +
                          ": each case must have a name "
                          "of its own, got two of " +
                          one.name);
  }

  std::vector<PreparedCase> prepare(const fs::path& folder) const {
    std::vector<NnUNetCase> unlabelled = cases_;
    for (NnUNetCase& one : unlabelled)
      one.label.clear();
    return prepare_volumes(unlabelled, {.folder = folder, .threads = task_.threads},
                           task_.volume.preparation);
  }

  void write(const training::Cases& cases) {
    const at::Tensor scores = cases.scores.to(at::kCPU, at::kFloat).contiguous();
    if (scores.dim() != 5 || scores.size(0) != 1 || cases.origins.size() != 1)
      throw ConfigError(
          "[predict] volumes need scores [1, classes, z, y, x] of a volume whose "
          "number is known; this kind has others");
    const auto number = static_cast<std::size_t>(cases.origins.front().index);
    const NnUNetCase& one = cases_.at(number);
    const PredictedVolume predicted = predicted_volume(
        {.values = {scores.const_data_ptr<float>(), static_cast<std::size_t>(scores.numel())},
         .classes = scores.size(1),
         .extent = {scores.size(2), scores.size(3), scores.size(4)}},
        prepared_.at(number), task_.predict);
    write_prediction(options_.output / prediction_name(one), predicted.info, predicted.voxels);
    if (!one.label.empty())
      dice_.add(one.name, overlaps_with(predicted, one.label, task_.classes, task_.ignore));
  }

  void say_dice() const {
    if (dice_.empty()) return;
    write_file_atomically(options_.output / "dice.csv", dice_.csv());
    std::fputs(dice_.text().c_str(), stdout);
  }

  const PredictOptions& options_;
  Ensemble& ensemble_;
  VolumePredictor& recipe_;
  VolumeTask task_;
  std::vector<NnUNetCase> cases_;
  std::vector<PreparedCase> prepared_;
  DiceTable dice_;
};

}  // namespace

ExitCode predict_volumes(const PredictOptions& options, Ensemble& ensemble,
                         VolumePredictor& recipe) {
  return VolumesPrediction(options, ensemble, recipe).run();
}

}  // namespace headrace::inline v1::app
