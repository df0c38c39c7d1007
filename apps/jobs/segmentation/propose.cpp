#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/jobs/segmentation/nnunet_planning.h>
#include <headrace/apps/jobs/segmentation/propose.h>
#include <headrace/apps/new/propose_task.h>
#include <headrace/apps/task/find_groups.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {

Proposal propose_segmentation(const DataFacts& facts) {
  auto config = std::make_shared<SegmentationConfig>();
  Proposal proposal{.config = config};
  propose_task(proposal, config->task, facts, 384);
  Reasons& reasons = proposal.reasons;
  config->training.batch = std::min<std::int64_t>(config->training.batch, 16);
  config->training.evaluation_batch = config->training.batch;
  reasons["training.batch"] = "a pixel is an example: small batches have enough of them";
  config->task.model.encoder = facts.gpu ? "resnet34" : "resnet18";
  reasons["model.encoder"] = facts.gpu ? "a GPU is there for it" : "the smallest, there is no GPU";
  config->mask = facts.mask;
  reasons["mask.classes"] =
      "values that the masks hold; give them names, and put values that count nowhere into ignore";
  return proposal;
}

namespace {

// nnU-Net's trainer.
constexpr std::int64_t steps_per_epoch = 250;
constexpr std::int64_t epochs = 1000;
constexpr double flat_ratio = 3.0;  // beyond it slices are turned in their plane alone
// Without a GPU.
constexpr double small_memory = 0.25;
constexpr double small_width = 0.25;
constexpr std::int64_t small_steps = 20;
constexpr std::int64_t small_epochs = 30;

using Scheme = VolumeNormalization::Scheme;

Scheme scheme_of(const std::string& name, bool of_nonzero) {
  if (name == "CTNormalization") return Scheme::ct;
  if (name == "NoNormalization") return Scheme::none;
  if (name == "RescaleTo01Normalization") return Scheme::zero_to_one;
  if (name == "RGBTo01Normalization") return Scheme::by_255;
  return of_nonzero ? Scheme::zscore_nonzero : Scheme::zscore;
}

// Entries of a plan's axes along those of the files.
template <class T>
std::array<T, 3> as_in_files(const NnUNetPlans& plans, const std::vector<T>& of_plan) {
  std::array<T, 3> files{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    files[axis] = of_plan[plans.transpose_backward[axis]];
  return files;
}

class VolumesProposal {
 public:
  VolumesProposal(const FolderQuestion& question, const NnUNetPlanning& planning)
      : question_(question),
        plans_(planning.plans),
        plan_(*planning.plans.fullres),
        planning_(planning) {}

  Proposal make() {
    task().data.train = {.source = RecordsIn::volumes, .folder = question_.data};
    task().data.follow_links = question_.follow_links;
    propose_split();
    task().augment = augment_list(fmt::format("[spatial{}, nnunet_intensity]", flat()));
    task().model.name = "plain_conv_unet";
    propose_volume();
    propose_normalisation();
    propose_loss();
    question_.gpu ? train_as_nnunet() : train_small();
    proposal_.config = config_;
    proposal_.lines = describe(planning_);
    if (!of_names_.empty()) proposal_.lines.push_back(of_names_);
    return std::move(proposal_);
  }

 private:
  TaskSettings& task() { return config_->task; }
  std::string& why(const std::string& key) { return proposal_.reasons[key]; }

  std::int64_t trained_cases() const {
    const auto cases = static_cast<double>(planning_.raw.cases.size());
    return std::max<std::int64_t>(
        1, std::llround(cases * (1.0 - *config_->task.data.split.validation)));
  }

  // As of nnU-Net's five folds the first: a fifth validates, none is kept for a test.
  void propose_split() {
    const auto cases = static_cast<double>(planning_.raw.cases.size());
    SplitSettings& split = task().data.split;
    split.validation = cases < 2 ? 0.0 : std::max(0.2, 1.0 / cases);
    split.test = 0.0;
    if (cases < 2) {
      config_->training.early_stopping = 0;
      why("data.split.validation") = "a single case: there is none to validate on";
    } else {
      why("data.split.validation") = "one of nnU-Net's five folds; folds: 5 trains all of them";
    }
    why("data.split.test") = "as nnU-Net, which tests on imagesTs";
    propose_groups();
  }

  void propose_groups() {
    SplitSettings& split = task().data.split;
    const auto found = find_groups(case_names(planning_.raw.cases, planning_.raw.folder), {});
    if (!found) return;
    of_names_ = found->reason;
    if (can_divide(found->groups, {}, split)) {
      split.group = found->pattern;
      why("data.split.group") = of_names_;
    } else {
      of_names_ += "; too few to divide, so cases of one are on several sides";
    }
  }

  void propose_volume() {
    VolumeSettings& volume = task().volume;
    volume.preparation.spacing = as_in_files(plans_, plan_.spacing);
    volume.patch = as_in_files(plans_, plan_.patch_size);
    why("volume.spacing") = plans_.reasons.contains("spacing")
                                ? plans_.reasons.at("spacing")
                                : "the median of the data set, as nnU-Net has it";
    why("volume.patch") = plan_.reasons.at("patch_size");
    config_->training.batch = plan_.batch_size;
    config_->training.evaluation_batch = plan_.batch_size;
    why("training.batch") = plan_.reasons.at("batch_size");
    why("model.name") = plan_.reasons.at("strides");
  }

  void propose_normalisation() {
    std::vector<VolumeNormalization>& channels = task().volume.preparation.channels;
    channels.clear();
    std::vector<std::string> reasons;
    for (std::size_t i = 0; i < plans_.normalization_schemes.size(); ++i) {
      VolumeNormalization one{
          .scheme = scheme_of(plans_.normalization_schemes[i], plans_.use_mask_for_norm[i])};
      if (one.scheme == Scheme::ct) {
        const NnUNetForegroundValues& values = planning_.fingerprint.intensity[i];
        one.low = values.percentile_00_5;
        one.high = values.percentile_99_5;
        one.mean = values.mean;
        one.deviation = std::max(values.std, 1e-8);
        if (!(one.low < one.high)) {
          one = {.scheme = Scheme::zscore};
          reasons.push_back(fmt::format(
              "channel {}: its foreground has one value, so each image is standardised by itself",
              i));
        }
      }
      channels.push_back(one);
      const auto reason = plans_.reasons.find(fmt::format("normalization_schemes.{}", i));
      if (reason != plans_.reasons.end()) reasons.push_back(reason->second);
    }
    why("volume.normalise") = fmt::format("{}", fmt::join(reasons, "; "));
  }

  // nnU-Net's: each output half as much as the finer one, the coarsest nothing, in all 1.
  void propose_loss() {
    const std::size_t counted = std::max<std::size_t>(plan_.strides.size() - 1, 2) - 1;
    double deep = 0.0;
    for (std::size_t i = 1; i < counted; ++i)
      deep += std::pow(0.5, static_cast<double>(i));
    const double all = 1.0 + deep;
    task().loss.clear();
    for (const auto& term : {LossEntry{.term = CrossEntropyTerm{}},
                             LossEntry{.term = DiceTerm{.batch = plan_.batch_dice}}}) {
      task().loss.push_back(term);
      task().loss.back().factor = 1.0 / all;
      if (deep == 0.0) continue;
      task().loss.push_back(term);
      task().loss.back().factor = deep / all;
      task().loss.back().on = "deep";
    }
    why("loss") =
        "nnU-Net's: Dice and cross entropy of every stage of the decoder, each half as much as the "
        "finer one, the coarsest not at all";
  }

  void train_as_nnunet() {
    TrainingSettings& training = config_->training;
    training.epochs = epochs;
    training.optimizer = training::SgdRule{.momentum = 0.99, .nesterov = true};
    training.learning_rate = 0.01;
    training.weight_decay = 3e-5;
    training.schedule = training::PolynomialRate{.power = 0.9};
    training.clip = 12.0;
    training.early_stopping = 0;
    training.precision = training::Precision::bf16;
    spread_patches(steps_per_epoch);
    task().predict.volume.mirror = {"z", "y", "x"};
    why("training.epochs") = "nnU-Net's trainer";
    why("training.optimizer") = "nnU-Net's trainer";
    why("training.precision") = "there is a GPU";
    why("predict.mirror") = "nnU-Net's predictions are the mean over all eight";
  }

  void train_small() {
    TrainingSettings& training = config_->training;
    training.epochs = small_epochs;
    training.learning_rate = 2e-3;
    task().model.width = small_width;
    spread_patches(small_steps);
    why("model.width") =
        "there is no GPU: a sixteenth of nnU-Net's arithmetic; on a GPU leave it out";
    why("training.epochs") =
        fmt::format("about {} steps in all, as there is no GPU", small_epochs * small_steps);
  }

  void spread_patches(std::int64_t steps) {
    const std::int64_t wanted = steps * config_->training.batch;
    task().volume.patches = (wanted + trained_cases() - 1) / trained_cases();
    why("volume.patches") = fmt::format("about {} steps an epoch", steps);
  }

  // "dummy 2D": of a patch whose slices are few.
  std::string flat() {
    const auto patch = as_in_files(plans_, plan_.patch_size);
    const auto sides = std::minmax_element(patch.begin(), patch.end());
    if (static_cast<double>(*sides.second) <= flat_ratio * static_cast<double>(*sides.first))
      return "";
    if (sides.first != patch.begin()) {
      why("augment") = "slices are not along z: they are turned about every axis";
      return "";
    }
    why("augment") = "few thick slices: they are turned in their plane alone";
    return ": {flat: true, angles: [-180, 180]}";
  }

  const FolderQuestion& question_;
  const NnUNetPlans& plans_;
  const NnUNetConfiguration& plan_;
  const NnUNetPlanning& planning_;
  std::shared_ptr<SegmentationConfig> config_ = std::make_shared<SegmentationConfig>();
  Proposal proposal_;
  std::string of_names_{};
};

}  // namespace

std::optional<Proposal> propose_volumes(const FolderQuestion& question) {
  if (!is_nnunet_raw(question.data)) return std::nullopt;
  const NnUNetRaw raw = read_nnunet_raw(question.data, question.follow_links);
  volume_classes(raw);  // refuses regions before all is looked at
  Progress view("look", static_cast<std::int64_t>(raw.cases.size()), "volumes");
  NnUNetFingerprintOptions options{.threads = question.threads};
  options.on_progress = [&](std::int64_t done, std::int64_t) { view.show(done); };
  const double memory = question.gpu_memory.value_or(question.gpu ? 8.0 : small_memory);
  const NnUNetPlanning planning =
      plan_nnunet_data(question.data, options, memory, question.follow_links);
  view.end();
  if (!planning.plans.fullres)
    throw ConfigError("[new] " + question.data.string() +
                      ": images must have more than one slice to be trained on as volumes; save "
                      "them as pictures with masks");
  return VolumesProposal(question, planning).make();
}

}  // namespace headrace::inline v1::app
