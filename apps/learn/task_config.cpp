#include <headrace/apps/learn/task_config.h>

namespace headrace::inline v1::app {

void describe_task(Fields& fields, JobConfig& config, TaskSettings& task, bool masks) {
  describe(fields, static_cast<RunSettings&>(config));
  fields.section("delay", [&](Fields& f) { describe(f, config.delay); },
                 {.doc = "slowness to plant, to see whether the verdict finds it"});
  fields.section("data",
                 [&](Fields& f) {
                   describe(f, task.data, masks);
                   describe_bad_samples(f, config.bad_samples);
                 },
                 {.doc = "records"});
  describe(fields, task, masks);
  fields.section("training", [&](Fields& f) { describe(f, config.training); });
}

}  // namespace headrace::inline v1::app
