#include <headrace/apps/jobs/job_list.h>
#include <headrace/apps/jobs/jobs.h>

namespace headrace::inline v1::app {

#define HEADRACE_DECLARE(name) Job name##_job();
HEADRACE_JOBS(HEADRACE_DECLARE)
#undef HEADRACE_DECLARE

const std::vector<Job>& jobs() {
#define HEADRACE_CALL(name) name##_job(),
  static const std::vector<Job> all{HEADRACE_JOBS(HEADRACE_CALL)};
#undef HEADRACE_CALL
  return all;
}

}  // namespace headrace::inline v1::app
