#include <headrace/apps/job/describe_job.h>

namespace headrace::inline v1::app {

void describe_job(Fields& fields, JobConfig& config, const JobSections& own) {
  describe(fields, static_cast<RunSettings&>(config));
  fields.section("delay", [&](Fields& f) { describe(f, config.delay); },
                 {.doc = "slowness to plant, to see whether the verdict finds it"});
  fields.section("data", [&](Fields& f) {
    own.data(f);
    describe_bad_samples(f, config.bad_samples);
  });
  describe_augment(fields, own.augment);
  if (own.model != nullptr)
    fields.section("model", [&](Fields& f) { describe(f, *own.model); }, {.doc = "the network"});
  fields.section("loss", own.loss);
  fields.section("training", [&](Fields& f) { describe(f, config.training); });
}

}  // namespace headrace::inline v1::app
