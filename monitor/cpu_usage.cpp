#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/cpu_usage.h>
#include <headrace/monitor/process_memory.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace headrace::inline v1::monitor {
namespace {

namespace fs = std::filesystem;
using headrace::detail::read_small_file;
using headrace::detail::split_lines;
using headrace::detail::split_words;
using headrace::detail::to_number;

struct Stat {
  std::string name;
  std::uint64_t ticks = 0;
};

// "123 (name with ) and blanks) S 1 ..." : fields 14 and 15 are user and system ticks.
std::optional<Stat> parse_stat(std::string_view text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto words = split_words(text.substr(close + 1));
  if (words.size() < 13) return std::nullopt;
  const auto user = to_number(words[11]);
  const auto system = to_number(words[12]);
  if (!user || !system) return std::nullopt;
  return Stat{std::string(text.substr(open + 1, close - open - 1)),
              static_cast<std::uint64_t>(*user + *system)};
}

std::optional<Stat> read_stat(const fs::path& path) {
  const auto text = read_small_file(path);
  return text ? parse_stat(*text) : std::nullopt;
}

double seconds_per_tick() {
  const long per_second = sysconf(_SC_CLK_TCK);
  return per_second > 0 ? 1.0 / static_cast<double>(per_second) : 0.01;
}

std::vector<std::uint64_t> machine_ticks(const fs::path& root) {
  std::vector<std::uint64_t> ticks(8, 0);
  const std::string text = read_small_file(root / "proc/stat").value_or("");
  const auto lines = split_lines(text);
  if (lines.empty()) return ticks;
  const auto words = split_words(lines[0]);
  for (std::size_t i = 0; i < ticks.size() && i + 1 < words.size(); ++i) {
    ticks[i] =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_number(words[i + 1]).value_or(0)));
  }
  return ticks;
}

std::optional<std::uint64_t> io_pressure(const fs::path& root) {
  const auto text = read_small_file(root / "proc/pressure/io");
  if (!text || !text->starts_with("some")) return std::nullopt;
  const auto place = text->find("total=");
  if (place == std::string::npos) return std::nullopt;
  const auto value = to_number(std::string_view(*text).substr(place + 6));
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

template <class Visit>
void each_numbered(const fs::path& directory, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.empty() &&
        std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      visit(it->path(), name);
    }
  }
}

void add_machine(CpuUsage& usage, const std::vector<std::uint64_t>& now,
                 const std::vector<std::uint64_t>& before) {
  std::array<double, 8> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = static_cast<double>(grown(now[i], before[i]));
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (!(all > 0)) return;
  usage.iowait_share = parts[4] / all;
  usage.steal_share = parts[7] / all;
  usage.machine_share = 1.0 - (parts[3] + parts[4]) / all;
}

}  // namespace

CpuSampler::CpuSampler(fs::path root)
    : root_(std::move(root)),
      cores_(usable_cores(root_)),
      tick_s_(seconds_per_tick()),
      last_(read()) {}

CpuSampler::Reading CpuSampler::read() const {
  Reading reading;
  reading.at = std::chrono::steady_clock::now();
  if (const auto stat = read_stat(root_ / "proc/self/stat")) reading.process_ticks = stat->ticks;
  reading.machine = machine_ticks(root_);
  reading.io_pressure_us = io_pressure(root_);
  each_numbered(root_ / "proc/self/task", [&](const fs::path& path, const std::string& id) {
    if (auto stat = read_stat(path / "stat"))
      reading.threads[id] = {std::move(stat->name), stat->ticks};
  });
  return reading;
}

void CpuSampler::add_threads(CpuUsage& usage, const Reading& now, const Reading& before,
                             double tick_s) {
  std::map<std::string, ThreadUsage> by_name;
  for (const auto& [id, thread] : now.threads) {
    const auto old = before.threads.find(id);
    const std::uint64_t start = old == before.threads.end() ? 0 : old->second.ticks;
    ThreadUsage& sum = by_name[thread.name];
    sum.name = thread.name;
    ++sum.threads;
    sum.cores += static_cast<double>(grown(thread.ticks, start)) * tick_s / usage.interval_s;
  }
  for (auto& [name, sum] : by_name)
    usage.threads.push_back(std::move(sum));
  std::stable_sort(usage.threads.begin(), usage.threads.end(),
                   [](const ThreadUsage& a, const ThreadUsage& b) { return a.cores > b.cores; });
}

CpuUsage CpuSampler::sample() {
  Reading now = read();
  CpuUsage usage;
  usage.interval_s = std::max(1e-9, std::chrono::duration<double>(now.at - last_.at).count());
  const double busy_s =
      static_cast<double>(grown(now.process_ticks, last_.process_ticks)) * tick_s_;
  usage.process_cores = busy_s / usage.interval_s;
  usage.process_share = std::min(1.0, usage.process_cores / cores_);
  add_machine(usage, now.machine, last_.machine);
  if (now.io_pressure_us && last_.io_pressure_us) {
    const double waited_s =
        static_cast<double>(grown(*now.io_pressure_us, *last_.io_pressure_us)) * 1e-6;
    usage.io_pressure_share = std::min(1.0, waited_s / usage.interval_s);
  }
  add_threads(usage, now, last_, tick_s_);
  last_ = std::move(now);
  return usage;
}

ProcessTicks read_process_ticks(const fs::path& root) {
  ProcessTicks ticks;
  each_numbered(root / "proc", [&](const fs::path& path, const std::string& id) {
    if (auto stat = read_stat(path / "stat"))
      ticks[std::stoi(id)] = {std::move(stat->name), stat->ticks};
  });
  return ticks;
}

std::vector<ProcessUsage> busiest_processes(const ProcessTicks& before, const ProcessTicks& after,
                                            double interval_s, std::size_t count) {
  std::vector<ProcessUsage> result;
  const double tick_s = seconds_per_tick();
  for (const auto& [pid, entry] : after) {
    const auto old = before.find(pid);
    if (old == before.end()) continue;
    const double cores = static_cast<double>(grown(entry.second, old->second.second)) * tick_s /
                         std::max(1e-9, interval_s);
    if (cores > 0) result.push_back({pid, entry.first, cores, pid == getpid()});
  }
  std::sort(result.begin(), result.end(),
            [](const auto& a, const auto& b) { return a.cores > b.cores; });
  if (result.size() > count) result.resize(count);
  return result;
}

}  // namespace headrace::inline v1::monitor
