#include <headrace/apps/jobs/retinopathy/config.h>
#include <headrace/apps/jobs/retinopathy/prepare.h>

namespace headrace::inline v1::app {

Job retinopathy_job() {
  return {.name = "retinopathy",
          .help = "grades of pictures, by a network for each pair of them and a vote",
          .config = [] { return std::make_shared<RetinopathyConfig>(); },
          .prepare = prepare_retinopathy_command};
}

}  // namespace headrace::inline v1::app
