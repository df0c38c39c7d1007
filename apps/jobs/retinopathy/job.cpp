#include <headrace/apps/jobs/retinopathy/config.h>

namespace headrace::inline v1::app {

Job retinopathy_job() {
  return {.name = "retinopathy",
          .help = "grades of pictures, by a network for each pair of them and a vote",
          .config = [] { return std::make_shared<RetinopathyConfig>(); }};
}

}  // namespace headrace::inline v1::app
