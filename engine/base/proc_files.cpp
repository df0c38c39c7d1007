#include <headrace/engine/base/internal/proc_files.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto start = text.find_first_not_of(separators);
    if (start == std::string_view::npos) return parts;
    text.remove_prefix(start);
    const auto end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// A namespaced container may name a path that does not exist inside it: the nearest parent that
// does then counts.
std::vector<fs::path> upwards(const fs::path& mount, std::string_view inner) {
  std::vector<fs::path> result;
  fs::path relative = fs::path(inner).relative_path().lexically_normal();
  if (std::find(relative.begin(), relative.end(), "..") != relative.end()) relative.clear();
  while (true) {
    const fs::path directory = relative.empty() ? mount : mount / relative;
    std::error_code error;
    if (fs::is_directory(directory, error)) result.push_back(directory);
    if (relative.empty()) return result;
    relative = relative.parent_path();
  }
}

bool names_controller(std::string_view list, std::string_view controller) {
  const auto names = split(list, ",");
  return std::find(names.begin(), names.end(), controller) != names.end();
}

std::optional<double> quota_v2(const fs::path& directory) {
  const auto text = read_small_file(directory / "cpu.max");
  if (!text) return std::nullopt;
  const auto words = split_words(*text);
  if (words.size() < 2) return std::nullopt;
  const auto quota = to_number(words[0]);
  const auto period = to_number(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_v1(const fs::path& directory) {
  const auto quota = to_number(read_small_file(directory / "cpu.cfs_quota_us").value_or(""));
  const auto period = to_number(read_small_file(directory / "cpu.cfs_period_us").value_or(""));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

// A stream would allocate more than the kernel takes to write most of these files.
std::optional<std::string> read_small_file(const fs::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> block;
  ssize_t count = 0;
  while ((count = ::read(file.number, block.data(), block.size())) > 0 ||
         (count < 0 && errno == EINTR))
    if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
  if (count < 0) return std::nullopt;
  return text;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  return split(text, "\n");
}
std::vector<std::string_view> split_words(std::string_view text) {
  return split(text, " \t\n");
}

std::optional<std::int64_t> to_number(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(words[0].data(), words[0].data() + words[0].size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key) {
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() < 2) continue;
    std::string_view name = words[0];
    if (name.ends_with(':')) name.remove_suffix(1);
    if (name != key) continue;
    const auto value = to_number(words[1]);
    if (!value || *value < 0) return std::nullopt;
    const std::uint64_t unit = words.size() > 2 && words[2] == "kB" ? 1024 : 1;
    return static_cast<std::uint64_t>(*value) * unit;
  }
  return std::nullopt;
}

std::vector<CgroupPath> cgroup_paths(const fs::path& root, std::string_view controller,
                                     std::string_view process) {
  std::vector<CgroupPath> result;
  const auto text = read_small_file(root / "proc" / process / "cgroup");
  if (!text) return result;
  const fs::path mount = root / "sys/fs/cgroup";
  for (const std::string_view line : split_lines(*text)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view inner = line.substr(second + 1);
    if (line.substr(0, first) == "0" && controllers.empty()) {
      result.push_back({2, upwards(mount, inner)});
      std::error_code error;
      if (fs::is_directory(mount / "unified", error))
        result.push_back({2, upwards(mount / "unified", inner)});
    } else if (names_controller(controllers, controller)) {
      std::error_code error;
      const fs::path own = mount / std::string(controller);
      const fs::path joint = mount / std::string(controllers);
      result.push_back({1, upwards(fs::is_directory(own, error) ? own : joint, inner)});
    }
  }
  return result;
}

std::optional<double> cpu_quota(const fs::path& root, std::string_view process) {
  std::optional<double> tightest;
  for (const auto& [version, directories] : cgroup_paths(root, "cpu", process)) {
    for (const fs::path& directory : directories) {
      const auto quota = version == 2 ? quota_v2(directory) : quota_v1(directory);
      if (quota && (!tightest || *quota < *tightest)) tightest = quota;
    }
  }
  return tightest;
}

int usable_cores(const fs::path& root) {
  return usable_cores(affinity_count(), cpu_quota(root));
}

int usable_cores(int affinity, std::optional<double> quota) {
  const int cores = std::max(1, affinity);
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

}  // namespace headrace::inline v1::detail
