#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/jobs/camouflage/records.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 12> figures{
    "iou",   "dice",       "mae",    "loss",  "s_measure",  "e_mean",
    "e_max", "e_adaptive", "f_mean", "f_max", "f_adaptive", "weighted_f",
};

// Of these, what every validation has and gets better upwards, or is the loss.
const std::array<std::string, 3> usual_figures{"iou", "dice", "loss"};

LossEntry on_deep(LossEntry entry) {
  entry.factor = 0.4;
  entry.on = "deep";
  entry.shares = DeepShares::equal;
  entry.resize = TargetResize::bilinear;
  return entry;
}

PictureTask picture_task(const CamouflageConfig& config) {
  return {.config = config, .mask = object_mask(), .records = [&config] {
            return camouflage_records(config);
          }};
}

}  // namespace

CamouflageConfig::CamouflageConfig() {
  task.image.decode.side = 384;
  task.augment = augment_list(
      "[{flip: 0.5}, {vertical_flip: 0.3}, {rotate90: 0.3}, {affine: {degrees: [-15, 15], "
      "translate: [0.1, 0.1], scale: [0.8, 1.2], p: 0.5}}, {degrade: 0.3}, {color_jitter: "
      "{brightness: 0.2, "
      "contrast: 0.2, saturation: 0.2, hue: 0.2, p: 0.5}}]");
  task.loss = {LossEntry{.term = BinaryCrossEntropyTerm{}, .factor = 5.0},
               LossEntry{.term = IouTerm{.smooth = 1e-5}, .factor = 3.0},
               LossEntry{.term = EdgeTerm{}, .factor = 2.0},
               on_deep({.term = BinaryCrossEntropyTerm{}})};
  task.model.name = "camoxpert";
  task.selected_by = "iou";
  training = {.epochs = 120,
              .batch = 2,
              .evaluation_batch = 8,
              .accumulation = 4,
              .learning_rate = 2.5e-4,
              .weight_decay = 1e-4,
              .schedule = training::OneCycleRate{.pct = 0.1},
              .clip = 1.0,
              .ema = 0.999,
              .early_stopping = 0};
}

void CamouflageConfig::describe_keys(Fields& fields) {
  fields.choice("pictures", pictures,
                {{"camouflaged", CodPictures::camouflaged}, {"all", CodPictures::all}},
                {.doc = "of COD10K, by their names: not those that say NonCAM, or all"});
  describe_task(fields, *this, task, true);
}

void CamouflageConfig::settle(const Fields& read) {
  const bool mixtures = has_mixtures(task.model);
  if (mixtures && !task.model.experts) task.model.experts = task.model.name == "camoxpert" ? 7 : 4;
  if (mixtures ? !task.model.deep_supervision : !read.was_set("loss"))
    std::erase_if(task.loss, [](const LossEntry& entry) { return entry.on == "deep"; });
}

std::span<const std::string> CamouflageConfig::plateau_figures() const {
  return usual_figures;
}

void CamouflageConfig::check() const {
  JobConfig::check();
  if (holds_volumes(task.data))
    throw ConfigError(
        "[config] data.train.source must be pairs, manifest or pack for camouflage, which is about "
        "pictures, got volumes; take kind: segmentation");
  app::check(task, figures);
  for (const LossEntry& entry : task.loss)
    if (name_of(entry) == "cross_entropy")
      throw ConfigError(
          "[config] " + entry.place.text() +
          ": loss: cross_entropy is for several classes, but camouflage has one mask; take bce");
  if (std::holds_alternative<FittedThreshold>(task.predict.threshold))
    throw ConfigError(
        "[config] predict.threshold: camouflage is decided where a validation need not say; take "
        "{at: 0.5}, or leave it out");
}

std::optional<MaskFormat> CamouflageConfig::mask_format() const {
  return MaskFormat{.values = {0, 255}};
}

LoaderJob CamouflageConfig::loader_job() const {
  return picture_loader_job(picture_task(*this));
}

std::vector<DataPart> CamouflageConfig::data_parts() const {
  return picture_data_parts(picture_task(*this));
}

}  // namespace headrace::inline v1::app
