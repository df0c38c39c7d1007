#include <headrace/apps/report/write_report.h>
#include <headrace/apps/train/leave_report.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/base/error.h>

namespace headrace::inline v1::app {

void leave_report(const std::filesystem::path& folder, const std::vector<Job>& jobs,
                  RunView& view) {
  try {
    write_report(folder, jobs);
    view.info("report: " + (folder / "report.html").string());
  } catch (const ResourceError& error) {
    view.warn(error.what());
  }
}

}  // namespace headrace::inline v1::app
