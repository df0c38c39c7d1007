#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/prepare.h>
#include <headrace/engine/base/error.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void LeakConfig::check() const {
  JobConfig::check();
  app::check(model);
  if (is_leak_cnn() && model.width != 1.0)
    throw ConfigError(
        fmt::format("[config] model.width must be 1 for leak_cnn, which has no width factor, got "
                    "{}; name another network",
                    model.width));
  if (is_leak_cnn() && !(model.hidden.empty() && model.dropout.empty()))
    throw ConfigError(
        "[config] model.hidden and model.dropout must be empty for leak_cnn, which has a head of "
        "its own; name another network");
}

LoaderJob LeakConfig::loader_job() const {
  return make_leak_loader_job(*this);
}

std::vector<DataPart> LeakConfig::data_parts() const {
  return leak_data_parts(*this);
}

Job leak_job() {
  return {.name = "leak",
          .help = "the sound of a leak among others, from short log-mel segments of recordings",
          .config = [] { return std::make_shared<LeakConfig>(); },
          .prepare = prepare_leak_command};
}

}  // namespace headrace::inline v1::app
