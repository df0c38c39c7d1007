#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/jobs/surface/prepare.h>

namespace headrace::inline v1::app {

Job surface_job() {
  return {.name = "surface",
          .help = "thin sheets in volumes, by a loss that sees their topology",
          .config = [] { return std::make_shared<SurfaceConfig>(); },
          .prepare = prepare_surface_command};
}

}  // namespace headrace::inline v1::app
