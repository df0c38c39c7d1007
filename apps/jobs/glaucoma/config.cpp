#include <headrace/apps/job/describe_job.h>
#include <headrace/apps/jobs/glaucoma/config.h>

#include <array>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 4> figures{"accuracy", "balanced_accuracy", "macro_f1", "loss"};

void describe(Fields& fields, GlaucomaData& data) {
  fields.key(
      "file", data.file,
      {.doc = "HDF5 file with features/*, labels and, if it has one, split", .required = true});
  describe_resident(fields, data.resident);
  describe_stage(fields, data.stage);
  describe_cache(fields, data.cache);
  describe_prefetch(fields, data.prefetch);
  fields.key("folds", data.folds,
             {.doc = "stratified parts of the training split", .min = 2.0, .max = 100.0});
}

void describe(Fields& fields, GlaucomaLoss& loss) {
  fields.choice("name", loss.name,
                {{"focal", GlaucomaLossName::focal},
                 {"clamped-focal", GlaucomaLossName::clamped_focal},
                 {"cross-entropy", GlaucomaLossName::cross_entropy}},
                {.doc = "clamped-focal is a known defect, kept to show what it costs"});
  fields.key("gamma", loss.gamma,
             {.doc = "of the focal loss",
              .min = 0.0,
              .max = 10.0,
              .used_if = [&loss] { return loss.name != GlaucomaLossName::cross_entropy; },
              .used_when = "loss.name is focal or clamped-focal"});
}

}  // namespace

GlaucomaConfig::GlaucomaConfig() {
  augment = augment_list("[{flip: 0.5}, {rotate: 10}]");
  model.name = "efficient_glaucoma_cnn";
  training = {.epochs = 50,
              .schedule = training::PlateauOptions{.factor = 0.5, .patience = 5},
              .early_stopping = 10};
}

std::span<const std::string> GlaucomaConfig::plateau_figures() const {
  return figures;
}

void GlaucomaConfig::describe_keys(Fields& fields) {
  describe_job(fields, *this,
               {.data = [this](Fields& f) { describe(f, data); },
                .augment = augment,
                .model = &model,
                .loss = [this](Fields& f) { describe(f, loss); }});
}

}  // namespace headrace::inline v1::app
