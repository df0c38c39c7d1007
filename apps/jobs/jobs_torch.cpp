#include <headrace/apps/job/recipe_torch.h>
#include <headrace/apps/jobs/job_list.h>
#include <headrace/engine/base/error.h>

#include <string>

namespace headrace::inline v1::app {

#define HEADRACE_DECLARE(name) \
  std::unique_ptr<training::Recipe> name##_recipe(const JobConfig& config, Device device);
HEADRACE_JOBS(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE

std::unique_ptr<training::Recipe> make_recipe(std::string_view job, const JobConfig& config,
                                              Device device) {
#define HEADRACE_MAKE(name) \
  if (job == #name) return name##_recipe(config, device);
  HEADRACE_JOBS(HEADRACE_MAKE)
#undef HEADRACE_MAKE
  throw ConfigError("[config] kind must be that of a job, got " + std::string(job));
}

}  // namespace headrace::inline v1::app
