#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/prepare.h>

namespace headrace::inline v1::app {

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
