#include <headrace/apps/job/describe_job.h>
#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/names.h>

#include <array>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 8> figures{"f1",           "accuracy",      "recording_accuracy",
                                         "segment_auc",  "recording_auc", "loss",
                                         "loss_classes", "loss_auxiliary"};

void describe(Fields& fields, LeakData& data) {
  const auto file = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .required = true};
  };
  fields.key("training", data.training, file("HDF5 file with segments_mel and labels"));
  fields.key("validation", data.validation, file("the same, to select weights and threshold"));
  fields.key("testing", data.testing, file("the same, to report on"));
  describe_resident(fields, data.resident);
  fields.choice(
      "residence", data.residence,
      {{"host", LeakResidence::host}, {"device", LeakResidence::device}},
      {.doc = "memory the segments live in; device: whole on the GPU, batches made there"});
  describe_stage(fields, data.stage);
  describe_prefetch(fields, data.prefetch);
}

void describe_loss(Fields& fields, LeakConfig& config) {
  fields.key("auxiliary", config.loss.auxiliary,
             {.doc = "factor of the auxiliary head's term",
              .min = 0.0,
              .max = 10.0,
              .used_if = [&config] { return config.is_leak_cnn(); },
              .used_when = "model.name is leak_cnn, whose head it is"});
  fields.key("leak_boost", config.loss.leak_boost,
             {.doc = "of the leak's class weight", .above = 0.0, .max = 100.0});
}

}  // namespace

LeakConfig::LeakConfig() {
  model.name = leak_network;
  training = {.epochs = 200,
              .batch = 8192,
              .evaluation_batch = 4096,
              .schedule = training::CosineRate{.warmup_epochs = 3, .lowest = 1e-6},
              .clip = 1.0,
              .early_stopping = 15};
}

bool LeakConfig::is_leak_cnn() const {
  return model.torchscript.empty() && model.name == leak_network;
}

std::span<const std::string> LeakConfig::plateau_figures() const {
  return figures;
}

void LeakConfig::describe_keys(Fields& fields) {
  describe_job(fields, *this,
               {.data = [this](Fields& f) { describe(f, data); },
                .augment = augment,
                .model = &model,
                .loss = [this](Fields& f) { describe_loss(f, *this); }});
}

}  // namespace headrace::inline v1::app
