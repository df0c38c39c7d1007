#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/engine/base/printable.h>
#include <headrace/monitor/system/detail/proc_stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <numeric>

#include <dirent.h>
#include <unistd.h>

namespace headrace::inline v1::monitor::detail {

using headrace::detail::read_small_file;
using headrace::detail::split_words;
using headrace::detail::to_number;

// "123 (name with ) and blanks) S 1 ..." : words are counted behind the name, see proc(5).
std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto words = split_words(text.substr(close + 1));
  constexpr std::size_t fewest = 13;
  if (words.size() < fewest || !to_number(words[11]) || !to_number(words[12])) return std::nullopt;
  const auto number = [&](std::size_t word) -> std::uint64_t {
    if (word >= words.size()) return 0;
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, to_number(words[word]).value_or(0)));
  };
  return ProcessStat{.name = printable(text.substr(open + 1, close - open - 1)),
                     .state = words[0].front(),
                     .parent = static_cast<int>(number(1)),
                     .ticks = number(11) + number(12),
                     .child_ticks = number(13) + number(14),
                     .major_faults = number(9) + number(10),
                     .threads = number(17),
                     .start = number(19),
                     .resident_pages = number(21)};
}

std::optional<ProcessStat> read_process_stat(const std::filesystem::path& file) {
  const auto text = read_small_file(file);
  return text ? parse_process_stat(*text) : std::nullopt;
}

double seconds_per_tick() {
  const long per_second = sysconf(_SC_CLK_TCK);
  return per_second > 0 ? 1.0 / static_cast<double>(per_second) : 0.01;
}

std::vector<int> numbered_entries(const std::filesystem::path& folder) {
  std::vector<int> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(folder.c_str()), ::closedir);
  if (!list) return numbers;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && end == name.data() + name.size() && number >= 0)
      numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

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
