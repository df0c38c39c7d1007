#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/system/detail/device_meters.h>
#include <headrace/monitor/system/detail/proc_stat.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace headrace::inline v1::monitor::detail {
namespace {

namespace fs = std::filesystem;
using headrace::detail::read_small_file;
using headrace::detail::split_lines;
using headrace::detail::split_words;
using headrace::detail::to_number;

std::uint64_t counter(std::string_view word) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_number(word).value_or(0)));
}

double rate(std::uint64_t now, std::uint64_t before, double interval_s) {
  return interval_s > 0 ? static_cast<double>(grown(now, before)) / interval_s : 0.0;
}

// "sda1", "nvme0n1p2": what a partition is called, where the system's list of devices is not there.
bool named_as_part(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.back())) == 0) return false;
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0)
    name.remove_suffix(1);
  if (name.starts_with("nvme") || name.starts_with("mmcblk")) return name.ends_with('p');
  return name.starts_with("sd") || name.starts_with("hd") || name.starts_with("vd") ||
         name.starts_with("xvd");
}

}  // namespace

DiskMeter::DiskMeter(fs::path root) : root_(std::move(root)), last_(read()) {}

bool DiskMeter::is_whole(const std::string& name) {
  const auto known = whole_.find(name);
  if (known != whole_.end()) return known->second;
  bool whole = !name.starts_with("loop") && !name.starts_with("ram");
  std::error_code missing;
  const fs::path list = root_ / "sys/block";
  if (whole)
    whole =
        fs::is_directory(list, missing) ? fs::exists(list / name, missing) : !named_as_part(name);
  whole_[name] = whole;
  return whole;
}

// Behind major, minor and name: reads, merged, sectors, ms, writes, merged, sectors, ms, in flight,
// ms with at least one (the kernel's Documentation/admin-guide/iostats.rst).
std::map<std::string, DiskMeter::Counters> DiskMeter::read() {
  std::map<std::string, Counters> disks;
  constexpr std::uint64_t sector = 512;
  const std::string text = read_small_file(root_ / "proc/diskstats").value_or("");
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() < 13) continue;
    const Counters counters{.requests = counter(words[3]) + counter(words[7]),
                            .read = counter(words[5]) * sector,
                            .written = counter(words[9]) * sector,
                            .busy_ms = counter(words[12])};
    const std::string name(words[2]);
    if (counters.requests > 0 && is_whole(name)) disks[name] = counters;
  }
  return disks;
}

std::vector<DiskUse> DiskMeter::sample(double interval_s) {
  const auto before = std::exchange(last_, read());
  std::vector<DiskUse> disks;
  for (const auto& [name, now] : last_) {
    const auto old = before.find(name);
    const Counters then = old == before.end() ? now : old->second;
    disks.push_back(
        {.name = name,
         .read_per_s = rate(now.read, then.read, interval_s),
         .written_per_s = rate(now.written, then.written, interval_s),
         .requests_per_s = rate(now.requests, then.requests, interval_s),
         .busy_share = std::min(1.0, rate(now.busy_ms, then.busy_ms, interval_s) * 1e-3)});
  }
  return disks;
}

NetworkMeter::NetworkMeter(fs::path root) : root_(std::move(root)), last_(read()) {}

// "eth0: 13 bytes and seven more of what was received, then bytes sent"
std::map<std::string, NetworkMeter::Counters> NetworkMeter::read() const {
  std::map<std::string, Counters> networks;
  const std::string text = read_small_file(root_ / "proc/net/dev").value_or("");
  for (const std::string_view line : split_lines(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto names = split_words(line.substr(0, colon));
    const auto words = split_words(line.substr(colon + 1));
    if (names.size() != 1 || words.size() < 9 || names[0] == "lo") continue;
    const Counters counters{counter(words[0]), counter(words[8])};
    if (counters[0] + counters[1] > 0) networks[std::string(names[0])] = counters;
  }
  return networks;
}

std::vector<NetworkUse> NetworkMeter::sample(double interval_s) {
  const auto before = std::exchange(last_, read());
  std::vector<NetworkUse> networks;
  for (const auto& [name, now] : last_) {
    const auto old = before.find(name);
    const Counters then = old == before.end() ? now : old->second;
    networks.push_back({.name = name,
                        .received_per_s = rate(now[0], then[0], interval_s),
                        .sent_per_s = rate(now[1], then[1], interval_s)});
  }
  return networks;
}

}  // namespace headrace::inline v1::monitor::detail
