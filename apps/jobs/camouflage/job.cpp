#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/jobs/camouflage/prepare.h>

namespace headrace::inline v1::app {

Job camouflage_job() {
  return {.name = "camouflage",
          .help = "the mask of an animal that hides, in two stages",
          .config = [] { return std::make_shared<CamouflageConfig>(); },
          .prepare = prepare_camouflage_command};
}

}  // namespace headrace::inline v1::app
