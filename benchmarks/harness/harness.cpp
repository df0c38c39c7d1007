#include <headrace/benchmarks/harness/harness.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>

#include <headrace/engine/runtime/runtime.h>

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
    all.push_back({contenders[i].name, median(rates[i]), *low, *high, median(costs[i])});
  }
  return all;
}

void print(const std::string& title, const std::string& unit, const std::vector<Rates>& rates,
           const std::string& reference) {
  double base = 0;
  for (const Rates& r : rates) {
    if (r.name == reference) base = r.median;
  }
  std::printf("\n%s\n%-44s %14s %26s %14s %10s\n", title.c_str(), "", (unit + "/s").c_str(),
              "spread", "CPU us each", "ratio");
  for (const Rates& r : rates) {
    std::printf("%-44s %14.0f %12.0f - %11.0f %14.3f %10.3f\n", r.name.c_str(), r.median, r.low,
                r.high, r.cpu * 1e6, r.median / base);
  }
  std::fflush(stdout);
}

std::string machine_line() {
  std::string model = "unknown CPU";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    model = line.substr(line.find(':') + 2);
    break;
  }
  const double gib = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::strftime(date, sizeof date, "%Y-%m-%d", &utc);
  char line[256];
  std::snprintf(line, sizeof line, "machine: %s, %d usable cores, %.0f GiB, g++ %s, %s",
                model.c_str(), usable_cores(), gib, __VERSION__, date);
  return line;
}

}  // namespace headrace::inline v1::bench
