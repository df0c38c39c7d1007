#include <headrace/apps/jobs/leak/config.h>

namespace headrace::inline v1::app {
namespace {

void describe(Fields& fields, LeakMasks& masks) {
  const auto used = [&masks](std::string doc, double max) {
    return KeyOptions{.doc = std::move(doc),
                      .min = 0.0,
                      .max = max,
                      .used_if = [&masks] { return masks.enabled; },
                      .used_when = "spec_augment.enabled is true"};
  };
  fields.key("enabled", masks.enabled, {.doc = "mask training segments"});
  fields.key("frequency_masks", masks.frequency_masks, used("of a segment", 32.0));
  fields.key("frequency_width", masks.frequency_width, used("widest, in mel bins", 4096.0));
  fields.key("time_masks", masks.time_masks, used("of a segment", 32.0));
  fields.key("time_share", masks.time_share,
             used("widest, as a share of the frames; never less than one", 1.0));
}

void describe(Fields& fields, LeakData& data) {
  const auto file = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .required = true};
  };
  fields.key("training", data.training, file("HDF5 file with segments_mel and labels"));
  fields.key("validation", data.validation, file("the same, to select weights and threshold"));
  fields.key("testing", data.testing, file("the same, to report on"));
  fields.key("resident", data.resident, {.doc = "most of one file that is kept in memory"});
  fields.choice(
      "residence", data.residence,
      {{"host", LeakResidence::host}, {"device", LeakResidence::device}},
      {.doc = "memory the segments live in; device: whole on the GPU, batches made there"});
  fields.key("stage", data.stage,
             {.doc = "folder a file is copied to first, checked; empty: read where it lies"});
  fields.key("prefetch", data.prefetch,
             {.doc = "batches made ready ahead of the trainer", .min = 1.0, .max = 64.0});
  fields.section("spec_augment", [&](Fields& f) { describe(f, data.masks); });
}

void describe_loss(Fields& fields, LeakTraining& training) {
  fields.key("auxiliary", training.auxiliary,
             {.doc = "factor of the auxiliary head's loss", .min = 0.0, .max = 10.0});
  fields.key("leak_boost", training.leak_boost,
             {.doc = "of the leak's class weight", .above = 0.0, .max = 100.0});
}

void describe_rate(Fields& fields, LeakTraining& training) {
  fields.key("learning_rate", training.learning_rate,
             {.doc = "of AdamW, after the warm-up", .above = 0.0});
  fields.key("lowest_rate", training.lowest_rate, {.doc = "at the last step", .min = 0.0});
  fields.key("warmup_epochs", training.warmup_epochs,
             {.doc = "with a rising rate; then half a cosine", .min = 0.0});
  fields.key("weight_decay", training.weight_decay, {.doc = "of AdamW", .min = 0.0, .max = 1.0});
  fields.key("clip", training.clip, {.doc = "norm of all gradients; 0: none", .min = 0.0});
}

void describe(Fields& fields, LeakTraining& training) {
  fields.key("epochs", training.epochs, {.doc = "at most", .min = 1.0, .max = 100000.0});
  fields.key("batch", training.batch, {.doc = "segments of a step", .min = 2.0, .max = 1e6});
  fields.key("evaluation_batch", training.evaluation_batch,
             {.doc = "segments at once in evaluation", .min = 1.0, .max = 1e6});
  describe_rate(fields, training);
  describe_loss(fields, training);
  fields.choice("precision", training.precision,
                {{"fp32", LeakPrecision::fp32}, {"bf16", LeakPrecision::bf16}},
                {.doc = "of the forward pass"});
  fields.key("early_stopping", training.early_stopping,
             {.doc = "epochs without a better F1 of recordings; 0: never", .min = 0.0});
  fields.key("checkpoint_every", training.checkpoint_every,
             {.doc = "steps between checkpoints inside an epoch; 0: none", .min = 0.0});
  fields.key("channels_last", training.channels_last, {.doc = "memory layout of the network"});
}

}  // namespace

void describe(Fields& fields, LeakConfig& config) {
  describe(fields, static_cast<RunSettings&>(config));
  fields.section("data", [&](Fields& f) { describe(f, config.data); });
  fields.section("training", [&](Fields& f) { describe(f, config.training); });
}

}  // namespace headrace::inline v1::app
