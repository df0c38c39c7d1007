#include <headrace/apps/jobs/tones/config.h>

namespace headrace::inline v1::app {

TonesConfig::TonesConfig() {
  training = {.epochs = 5, .batch = 64, .learning_rate = 3e-3, .early_stopping = 0};
}

void TonesConfig::describe_keys(Fields& fields) {
  JobConfig::describe_keys(fields);
  fields.section("data", [this](Fields& f) {
    f.key("sounds", data.sounds, {.doc = "of an epoch", .min = 4, .max = 1e9});
    f.key("pitches", data.pitches, {.doc = "that there are", .min = 2, .max = 64});
    f.key("noise", data.noise, {.doc = "deviation, beside a sine of height 1", .min = 0});
  });
}

}  // namespace headrace::inline v1::app
