#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/prepare.h>

namespace headrace::inline v1::app {

LeakConfig::LeakConfig() {
  training = {.epochs = 200,
              .batch = 8192,
              .evaluation_batch = 4096,
              .schedule = training::CosineRate{.warmup_epochs = 3, .lowest = 1e-6},
              .clip = 1.0,
              .early_stopping = 15};
}

void LeakConfig::describe_keys(Fields& fields) {
  describe(fields, *this);
}

LoaderJob LeakConfig::loader_job() const {
  return make_leak_loader_job(*this);
}

Job leak_job() {
  return {.name = "leak",
          .help = "the sound of a leak among others, from short log-mel segments of recordings",
          .config = [] { return std::make_shared<LeakConfig>(); },
          .prepare = prepare_leak_command};
}

}  // namespace headrace::inline v1::app
