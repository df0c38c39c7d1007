#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/detail/machine_ticks.h>
#include <headrace/monitor/detail/process_stat.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace headrace::inline v1::monitor::detail {

std::vector<std::uint64_t> read_machine_ticks(const std::filesystem::path& root) {
  std::vector<std::uint64_t> ticks(8, 0);
  const std::string text = headrace::detail::read_small_file(root / "proc/stat").value_or("");
  const auto words =
      headrace::detail::split_words(std::string_view(text).substr(0, text.find('\n')));
  for (std::size_t i = 0; i < ticks.size() && i + 1 < words.size(); ++i) {
    ticks[i] = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, headrace::detail::to_number(words[i + 1]).value_or(0)));
  }
  return ticks;
}

MachineShares machine_shares(const std::vector<std::uint64_t>& now,
                             const std::vector<std::uint64_t>& before) {
  std::array<double, 8> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = static_cast<double>(grown(now[i], before[i]));
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (!(all > 0)) return {};
  return {
      .busy = 1.0 - (parts[3] + parts[4]) / all, .iowait = parts[4] / all, .steal = parts[7] / all};
}

}  // namespace headrace::inline v1::monitor::detail
