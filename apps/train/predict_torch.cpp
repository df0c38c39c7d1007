#include <headrace/apps/train/ensemble_torch.h>
#include <headrace/apps/train/predict_torch.h>
#include <headrace/apps/train/prediction_text.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/training/vote.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {
namespace {

class PredictCommand {
 public:
  PredictCommand(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe)
      : options_(options), ensemble_(options.ensemble, jobs, make_recipe) {}

  ExitCode run() {
    if (ensemble_.members().size() == 1)
      one_alone();
    else
      vote();
    if (!text_)
      throw DataError("[predict] " + options_.data.string() + " must hold samples, got none");
    write_file_atomically(options_.output, text_->text());
    std::fprintf(stderr, "predict: %lld samples%s, %s\n", static_cast<long long>(text_->cases()),
                 ensemble_.votes().c_str(), options_.output.c_str());
    return ExitCode::done;
  }

 private:
  void look(const Predictor& one, const std::function<void(const training::Cases&)>& at) {
    ReadyMember ready = ensemble_.ready(one);
    ready.options.on_cases = at;
    Loader loader = ensemble_.recipe().prediction(options_.data, ready.feed).build();
    training::predict(*ready.course, *ready.network, loader, ready.options);
  }

  void one_alone() {
    const Predictor& member = ensemble_.members().front();
    look(member, [&](const training::Cases& cases) {
      require(cases);
      const training::Cases said{.scores = cases.scores, .member = member.member.index};
      add(ensemble_.recipe().vote({&said, 1}).scores, files_of(cases));
    });
  }

  void vote() {
    std::vector<training::Cases> of_members;
    std::vector<std::string> files;
    for (const Predictor& one : ensemble_.members()) {
      training::ScoreKeeper keeper;
      look(one, [&](const training::Cases& cases) {
        require(cases);
        keeper.add(cases);
        if (!of_members.empty()) return;
        const std::vector<std::string> more = files_of(cases);
        files.insert(files.end(), more.begin(), more.end());
      });
      of_members.push_back({.scores = keeper.result().scores, .member = one.member.index});
      if (!of_members.back().scores.defined()) return;  // no samples
    }
    add(ensemble_.recipe().vote(of_members).scores, files);
  }

  static std::vector<std::string> files_of(const training::Cases& cases) {
    std::vector<std::string> files;
    files.reserve(cases.origins.size());
    for (const Origin& origin : cases.origins)
      files.push_back(origin.file);
    return files;
  }

  // A row of the file is a case and its classes.
  void require(const training::Cases& cases) {
    if (cases.scores.defined() && cases.scores.dim() == 2 &&
        (classes_ == 0 || cases.scores.size(1) == classes_)) {
      classes_ = cases.scores.size(1);
      return;
    }
    throw ConfigError("[predict] scores of the kind " + ensemble_.kind() +
                      " must be [cases, classes] to be written as rows, got " +
                      (cases.scores.defined() ? std::to_string(cases.scores.dim()) + " axes"
                                              : std::string("none")));
  }

  void add(const at::Tensor& scores, const std::vector<std::string>& files) {
    const at::Tensor rows = scores.to(at::kCPU, at::kFloat).contiguous();
    const at::Tensor predicted = ensemble_.recipe()
                                     .predicted(scores, ensemble_.fitted())
                                     .to(at::kCPU, at::kLong)
                                     .contiguous();
    const bool of_each = predicted.dim() == 2 && predicted.sizes() == rows.sizes();
    if (rows.dim() != 2 || predicted.size(0) != rows.size(0) || !(predicted.dim() == 1 || of_each))
      throw ConfigError("[predict] the kind " + ensemble_.kind() +
                        " must predict one class, or each of its classes, for every row of its "
                        "scores");
    if (!text_)
      text_.emplace(prediction_format(options_.output), rows.size(1), ensemble_.class_names());
    text_->add(
        {.probabilities = {rows.const_data_ptr<float>(), static_cast<std::size_t>(rows.numel())},
         .predicted = {predicted.const_data_ptr<std::int64_t>(),
                       static_cast<std::size_t>(predicted.numel())},
         .files = files});
  }

  const PredictOptions& options_;
  Ensemble ensemble_;
  std::optional<PredictionText> text_;
  std::int64_t classes_ = 0;
};

}  // namespace

ExitCode predict(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe) {
  return PredictCommand(options, jobs, make_recipe).run();
}

}  // namespace headrace::inline v1::app
