#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/prepare.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void LeakConfig::describe_keys(Fields& fields) {
  describe(fields, *this);
}

void LeakConfig::check() const {
  if (training.warmup_epochs > training.epochs) {
    throw ConfigError(fmt::format(
        "[config] training.warmup_epochs must not be above training.epochs = {}, got {}",
        training.epochs, training.warmup_epochs));
  }
}

LoaderJob LeakConfig::loader_job() const {
  return make_leak_loader_job(*this);
}

Job leak_job() {
  return {.name = "leak",
          .help = "the sound of a leak among others, from short log-mel segments of recordings",
          .config = [] { return std::make_shared<LeakConfig>(); },
          .prepare = prepare_leak_command()};
}

}  // namespace headrace::inline v1::app
