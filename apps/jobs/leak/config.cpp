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

void describe(Fields& fields, LeakLoss& loss) {
  fields.key("auxiliary", loss.auxiliary,
             {.doc = "factor of the auxiliary head's term", .min = 0.0, .max = 10.0});
  fields.key("leak_boost", loss.leak_boost,
             {.doc = "of the leak's class weight", .above = 0.0, .max = 100.0});
}

}  // namespace

void describe(Fields& fields, LeakConfig& config) {
  describe(fields, static_cast<RunSettings&>(config));
  fields.section("data", [&](Fields& f) { describe(f, config.data); });
  fields.section("loss", [&](Fields& f) { describe(f, config.loss); });
  fields.section("training", [&](Fields& f) { describe(f, config.training); });
}

}  // namespace headrace::inline v1::app
