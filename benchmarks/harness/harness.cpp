#include <headrace/benchmarks/harness/harness.h>
#include <headrace/engine/runtime/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

std::vector<Rates> compare(const std::vector<Contender>& contenders, int repeats) {
  std::vector<std::vector<double>> rates(contenders.size());
  std::vector<std::vector<double>> costs(contenders.size());
  for (int round = 0; round <= repeats; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (contenders[i].prepare) contenders[i].prepare();
      const double cpu = cpu_seconds();
      const double begun = seconds();
      const double items = contenders[i].run();
      if (round == 0) continue;
      rates[i].push_back(items / (seconds() - begun));
      costs[i].push_back((cpu_seconds() - cpu) / items);
    }
  }
  std::vector<Rates> all;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto [low, high] = std::minmax_element(rates[i].begin(), rates[i].end());
    all.push_back({contenders[i].name, median(rates[i]), *low, *high, median(costs[i]), repeats});
  }
  return all;
}

std::vector<Rates> compare_measured(const std::vector<Measured>& contenders, int repeats) {
  std::vector<std::vector<double>> rates(contenders.size());
  for (int round = 0; round <= repeats; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const double rate = contenders[i].rate();
      if (round > 0) rates[i].push_back(rate);
    }
  }
  std::vector<Rates> all;
  all.reserve(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto extremes = std::minmax_element(rates[i].begin(), rates[i].end());
    all.push_back({.name = contenders[i].name,
                   .median = median(rates[i]),
                   .low = *extremes.first,
                   .high = *extremes.second,
                   .repeats = repeats});
  }
  return all;
}

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

std::string today() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%d", &utc);
  return date;
}

std::string machine_line() {
  const double gib = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  char line[256];
  std::snprintf(line, sizeof line, "machine: %s, %d usable cores, %.0f GiB, g++ %s, %s",
                cpu_model().c_str(), usable_cores(), gib, __VERSION__, today().c_str());
  return line;
}

}  // namespace headrace::inline v1::bench
