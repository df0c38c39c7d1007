#include <headrace/apps/terminal/progress.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

Progress::Progress(std::string who, std::int64_t all, std::string unit, LiveBlockOptions block)
    : who_(std::move(who)), all_(all), unit_(std::move(unit)), block_(std::move(block)) {}

std::string Progress::amount(double value) const {
  if (unit_ == "bytes") return monitor::format_bytes(static_cast<std::uint64_t>(value));
  return fmt::format("{:.0f}", value);
}

void Progress::show(std::int64_t done, std::int64_t first, const std::string& more) {
  if (!block_.due()) return;
  const double elapsed = seconds();
  const double pace = elapsed > 0 ? static_cast<double>(done - first) / elapsed : 0.0;
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(all_, 1));
  const std::string left = pace > 0
                               ? monitor::format_seconds(static_cast<double>(all_ - done) / pace)
                               : std::string("unknown time");
  const std::string unit = unit_ == "bytes" ? "" : " " + unit_;
  const std::string counts = fmt::format("{} {} of {}{}", who_, amount(static_cast<double>(done)),
                                         amount(static_cast<double>(all_)), unit);
  const std::string tail = fmt::format("{}{}/s{}, {} left", amount(pace), unit, more, left);
  block_.update({fmt::format("{}  {} {:.0f} %", counts, progress_bar(share), 100 * share), tail},
                fmt::format("{} ({:.0f} %), {}", counts, 100 * share, tail));
}

void Progress::say(const std::string& line) {
  block_.print(line + "\n");
}

void Progress::end() {
  block_.clear();
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string progress_bar(double share) {
  constexpr int width = 20;
  const int full = std::clamp(static_cast<int>(share * width + 0.5), 0, width);
  std::string text;
  for (int i = 0; i < width; ++i)
    text += i < full ? "█" : "░";
  return text;
}

}  // namespace headrace::inline v1::app
