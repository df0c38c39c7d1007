#include <headrace/apps/backend/ensemble_torch.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/learn/volume_predictor_torch.h>
#include <headrace/apps/predict/mask_writer_torch.h>
#include <headrace/apps/predict/output_folder.h>
#include <headrace/apps/predict/predict_torch.h>
#include <headrace/apps/predict/prediction_text.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/run/result_file.h>
#include <headrace/apps/task/data_set.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

class PredictCommand {
 public:
  PredictCommand(const PredictOptions& options, Ensemble& ensemble)
      : options_(options), ensemble_(ensemble), team_(ensemble_.ready()), fitted_(team_.fitted()) {}

  ExitCode run() {
    const std::optional<MaskFormat> format = ensemble_.job().config->mask_format();
    return format ? write_masks(*format) : write_rows();
  }

 private:
  ExitCode write_masks(const MaskFormat& format) {
    require_apart(options_.output, options_.data, "picture");
    MaskWriter writer(ensemble_.recipe(), MaskFolder(options_.output, options_.overwrite), format);
    look([&](const training::Cases& cases) { writer.add(cases, fitted_); });
    const std::int64_t read = writer.count() - unread_.cases;
    require_some(read);
    writer.finish();
    return done(read, "masks in " + options_.output.string(), writer.no_numbers());
  }

  ExitCode write_rows() {
    if (fs::is_directory(options_.output))
      throw ConfigError("[predict] --output must be a file, since the kind " +
                        ensemble_.job().name + " predicts a row for each record, got the folder " +
                        options_.output.string() + "; name a .csv or .jsonl file");
    const ResultFile output(options_.output, "[predict] --output", {options_.data});
    std::optional<PredictionText> text;
    look([&](const training::Cases& cases) { add(text, cases); });
    if (text) output.write(text->text());
    const std::int64_t read = text ? text->cases() - unread_.cases : 0;
    require_some(read);
    return done(read, options_.output.string(),
                {.cases = text->without_class(), .first = text->first_without()});
  }

  // Every batch goes through the networks of all members.
  void look(const std::function<void(const training::Cases&)>& at) {
    training::EvaluationOptions pass = team_.options(ensemble_.device());
    pass.on_cases = [&](const training::Cases& cases) {
      count_unread(cases);
      at(cases);
    };
    Loader loader = ensemble_.recipe()
                        .prediction(options_.data, ensemble_.feed(team_))
                        .on_bad_sample(unread_records({}))
                        .build({.log = &warn_of_data});
    training::predict_together(ensemble_.recipe(), team_.voters(), loader, pass);
  }

  // Data that are gone as a whole are no bad records.
  void count_unread(const training::Cases& cases) {
    if (cases.unread.empty()) return;
    std::error_code failed;
    if (!fs::exists(options_.data, failed))
      throw ResourceError("[predict] " + options_.data.string() +
                          ": is there no longer; bring it back, and predict again");
    const std::int64_t row = cases.unread.front();
    const auto place = static_cast<std::size_t>(row);
    if (unread_.cases == 0 && place < cases.origins.size())
      unread_.first = cases.origins[place].file;
    if (unread_.first.empty()) unread_.first = "sample " + std::to_string(cases.first + row);
    unread_.cases += std::ssize(cases.unread);
  }

  void require_some(std::int64_t read) const {
    if (read > 0) return;
    const std::string who = "[predict] " + options_.data.string() + " must hold samples, got ";
    if (unread_.cases == 0) throw DataError(who + "none");
    throw DataError(who + "none that can be read; the first is " + unread_.first +
                    ", its cause is above");
  }

  ExitCode done(std::int64_t samples, const std::string& where,
                const training::NoNumbers& nothing) const {
    std::fprintf(stderr, "predict: %lld samples%s, %s\n", static_cast<long long>(samples),
                 ensemble_.votes().c_str(), where.c_str());
    const ExitCode end = end_of_prediction(nothing, samples);
    if (unread_.cases == 0) return end;
    std::fprintf(stderr,
                 "predict: %lld of %lld records could not be read, the first %s; all others are "
                 "written\n",
                 static_cast<long long>(unread_.cases),
                 static_cast<long long>(samples + unread_.cases), unread_.first.c_str());
    return end == ExitCode::done ? ExitCode::data : end;
  }

  // A row of the file is a case and its classes.
  void require(const training::Cases& cases) {
    if (cases.scores.defined() && cases.scores.dim() == 2 &&
        (classes_ == 0 || cases.scores.size(1) == classes_)) {
      classes_ = cases.scores.size(1);
      return;
    }
    throw ConfigError("[predict] scores of the kind " + ensemble_.job().name +
                      " must be [cases, classes] to be written as rows, got " +
                      (cases.scores.defined() ? std::to_string(cases.scores.dim()) + " axes"
                                              : std::string("none")));
  }

  // Why, on the CPU.
  std::vector<training::Reason> reasons_of(const training::Cases& cases) const {
    std::vector<training::Reason> reasons = ensemble_.recipe().reasons(cases);
    for (training::Reason& reason : reasons)
      reason.values = reason.values.to(at::kCPU, at::kFloat).flatten().contiguous();
    return reasons;
  }

  void add(std::optional<PredictionText>& text, const training::Cases& cases) {
    require(cases);
    const at::Tensor rows = cases.scores.to(at::kCPU, at::kFloat).contiguous();
    const at::Tensor predicted =
        ensemble_.recipe().predicted(cases.scores, fitted_).to(at::kCPU, at::kLong).contiguous();
    const bool of_each = predicted.dim() == 2 && predicted.sizes() == rows.sizes();
    if (predicted.size(0) != rows.size(0) || !(predicted.dim() == 1 || of_each))
      throw ConfigError("[predict] the kind " + ensemble_.job().name +
                        " must predict one class, or each of its classes, for every row of its "
                        "scores");
    std::vector<std::string> files;
    for (const Origin& origin : cases.origins)
      files.push_back(origin.file);
    const std::vector<training::Reason> reasons = reasons_of(cases);
    std::vector<PredictedReason> why;
    for (const training::Reason& reason : reasons)
      why.push_back({.name = reason.name,
                     .values = {reason.values.const_data_ptr<float>(),
                                static_cast<std::size_t>(reason.values.numel())}});
    if (!text)
      text.emplace(prediction_format(options_.output), rows.size(1), ensemble_.class_names());
    text->add(
        {.probabilities = {rows.const_data_ptr<float>(), static_cast<std::size_t>(rows.numel())},
         .predicted = {predicted.const_data_ptr<std::int64_t>(),
                       static_cast<std::size_t>(predicted.numel())},
         .files = files,
         .reasons = why,
         .unread = cases.unread});
  }

  const PredictOptions& options_;
  Ensemble& ensemble_;
  Team team_;
  std::vector<training::TensorMap> fitted_;
  std::int64_t classes_ = 0;
  training::UnreadRecords unread_;
};

}  // namespace

ExitCode end_of_prediction(const training::NoNumbers& nothing, std::int64_t all) {
  if (nothing.cases == 0) return ExitCode::done;
  std::fprintf(
      stderr,
      "predict: the network gives %s; they have no class. Look at these records and at the "
      "weights\n",
      nothing.words(all).c_str());
  return ExitCode::numeric;
}

void set_root(training::Recipe& recipe, const fs::path& root, const fs::path& data,
              const char* command) {
  if (root.empty()) return;
  if (!is_list(data))
    throw ConfigError(std::string("[") + command + "] --root is of the paths in a list (--data " +
                      "LIST.csv), got " + (data.empty() ? "no data" : data.string()) +
                      "; leave it out");
  recipe.set_root(root);
}

ExitCode predict(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe) {
  Ensemble ensemble(options.ensemble, jobs, make_recipe);
  set_root(ensemble.recipe(), options.root, options.data, "predict");
  if (auto* volumes = dynamic_cast<VolumePredictor*>(&ensemble.recipe()))
    return predict_volumes(options, ensemble, *volumes);
  if (!options.labels.empty())
    throw ConfigError("[predict] --labels compares volumes with theirs, but the kind " +
                      ensemble.job().name + " was trained on others; leave it out");
  return PredictCommand(options, ensemble).run();
}

}  // namespace headrace::inline v1::app
