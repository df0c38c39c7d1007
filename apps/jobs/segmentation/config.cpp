#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/learn/task_config.h>

#include <array>
#include <string>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 6> figures{"mean_dice", "mean_iou", "pixel_accuracy",
                                         "dice_",     "iou_",     "loss"};

}  // namespace

SegmentationConfig::SegmentationConfig() {
  task.image.decode.side = 256;
  task.augment = augment_list("[{random_resized_crop: {scale: [0.5, 1.0]}}, {flip: 0.5}]");
  task.loss = {LossEntry{.term = CrossEntropyTerm{}}, LossEntry{.term = DiceTerm{}}};
  task.model.name = "unet";
  task.selected_by = "mean_dice";
  training = {.epochs = 60,
              .batch = 8,
              .evaluation_batch = 16,
              .schedule = training::CosineRate{.warmup_epochs = 2},
              .early_stopping = 15};
}

void SegmentationConfig::describe_keys(Fields& fields) {
  describe_task(fields, *this, task, true);
  fields.section("mask", [&](Fields& f) { describe(f, mask); },
                 {.doc = "what the pixels of mask files mean",
                  .used_if = [this] { return !volumes(); },
                  .used_when = "data.train.source is pairs, manifest or pack"});
}

void SegmentationConfig::settle(const Fields& read) {
  if (!volumes()) return;
  if (!read.was_set("augment")) task.augment = augment_list("[spatial, nnunet_intensity]");
  if (!read.was_set("model.name") && task.model.torchscript.empty())
    task.model.name = "plain_conv_unet";
  if (!read.was_set("training.batch")) training.batch = 2;
  if (!read.was_set("training.evaluation_batch")) training.evaluation_batch = 2;
}

std::span<const std::string> SegmentationConfig::plateau_figures() const {
  return figures;
}

void SegmentationConfig::check() const {
  JobConfig::check();
  app::check(task, figures);
  if (!volumes()) app::check(mask);
}

std::optional<MaskFormat> SegmentationConfig::mask_format() const {
  return volumes() ? std::nullopt : std::optional(app::mask_format(mask));
}

}  // namespace headrace::inline v1::app
