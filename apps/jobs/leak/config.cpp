#include <headrace/apps/feed/old_keys.h>
#include <headrace/apps/jobs/leak/config.h>

namespace headrace::inline v1::app {
namespace {

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

void describe(Fields& fields, LeakLoss& loss) {
  fields.key("auxiliary", loss.auxiliary,
             {.doc = "factor of the auxiliary head's term", .min = 0.0, .max = 10.0});
  fields.key("leak_boost", loss.leak_boost,
             {.doc = "of the leak's class weight", .above = 0.0, .max = 100.0});
}

/// What the section `spec_augment` of before becomes.
std::string spec_augment_entry(const Node& section) {
  std::string parameters;
  for (const Entry& entry : section.entries) {
    if (entry.key == "enabled" && entry.value.text != "true") return "augment: []";
    if (entry.key == "enabled" || entry.value.kind != Node::Kind::scalar) continue;
    parameters += (parameters.empty() ? "" : ", ") + entry.key + ": " + entry.value.text;
  }
  if (parameters.empty()) return "augment: [spec_augment]";
  return "augment: [{spec_augment: {" + parameters + "}}]";
}

}  // namespace

std::vector<MovedKey> old_leak_keys() {
  std::vector<MovedKey> keys = old_training_keys();
  keys.push_back({.old = "data.spec_augment",
                  .now = "an entry of the list augment",
                  .write = spec_augment_entry});
  keys.push_back({.old = "data.cache",
                  .now = "not a key: this job keeps whole files in memory (data.resident)"});
  keys.push_back({.old = "training.auxiliary", .now = "loss.auxiliary"});
  keys.push_back({.old = "training.leak_boost", .now = "loss.leak_boost"});
  return keys;
}

void describe(Fields& fields, LeakConfig& config) {
  fields.moved(old_leak_keys());
  describe_job(fields, config,
               {.data = [&](Fields& f) { describe(f, config.data); },
                .augment = config.augment,
                .loss = [&](Fields& f) { describe(f, config.loss); }});
}

}  // namespace headrace::inline v1::app
