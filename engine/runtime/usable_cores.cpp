#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <headrace/engine/runtime/runtime.h>

#include <sched.h>
#include <unistd.h>

namespace headrace::inline v1 {

namespace {

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Cores granted by one cgroup v2 directory, or a large number where it has no quota.
double quota_v2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1e9;
  return std::stod(quota) / period;
}

double quota_v1(const std::string& directory) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
  std::ifstream period_file(directory + "/cpu.cfs_period_us");
  double quota = -1;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return 1e9;
  return quota / period;
}

/// The tightest quota from the process's group up to the root.
template <class Quota>
double tightest(const std::string& root, std::string group, Quota quota) {
  double cores = 1e9;
  for (;;) {
    cores = std::min(cores, quota(root + group));
    if (group.empty() || group == "/") return cores;
    group.erase(group.rfind('/'));
  }
}

double cgroup_cores() {
  double cores = 1e9;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first + 1);
    for (char& c : controllers)
      c = c == ':' ? ',' : c;
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") cores = std::min(cores, tightest("/sys/fs/cgroup", group, quota_v2));
    if (controllers.find(",cpu,") != std::string::npos) {
      cores = std::min(cores, tightest("/sys/fs/cgroup/cpu", group, quota_v1));
    }
  }
  return cores;
}

}  // namespace

int usable_cores() {
  const double granted = std::ceil(cgroup_cores());
  return std::max(1, static_cast<int>(std::min<double>(affinity_count(), granted)));
}

}  // namespace headrace::inline v1
