#include <headrace/apps/commands/record_progress.h>

#include <headrace/apps/terminal/progress_bar.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

RecordProgress::RecordProgress(std::string what, std::int64_t all)
    : what_(std::move(what)), all_(all) {}

void RecordProgress::show(std::int64_t done, std::int64_t first, const std::string& more) {
  if (!block_.due()) return;
  const double elapsed = seconds();
  const double pace = elapsed > 0 ? static_cast<double>(done - first) / elapsed : 0.0;
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(all_, 1));
  const std::string left = pace > 0
                               ? monitor::format_seconds(static_cast<double>(all_ - done) / pace)
                               : std::string("unknown time");
  const std::string counts = fmt::format("{} {} of {}", what_, done, all_);
  const std::string tail = fmt::format("{:.0f} images/s{}, {} left", pace, more, left);
  block_.update({fmt::format("{}  {} {:.0f} %", counts, progress_bar(share), 100 * share), tail},
                fmt::format("{} ({:.0f} %), {}", counts, 100 * share, tail));
}

void RecordProgress::say(const std::string& line) {
  block_.print(line + "\n");
}

void RecordProgress::end() {
  block_.clear();
}

double RecordProgress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace headrace::inline v1::app
