#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/models/metrics/bootstrap.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::models {

namespace {

struct Group {
  double sum = 0.0;
  double count = 0.0;

  void operator+=(const Group& other) {
    sum += other.sum;
    count += other.count;
  }
};

void check(std::span<const double> values, std::span<const std::int64_t> groups,
           const BootstrapOptions& options) {
  if (values.size() != groups.size())
    throw DataError("[bootstrap] needs the group of each value, got " +
                    std::to_string(values.size()) + " values and " + std::to_string(groups.size()) +
                    " groups");
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    throw DataError("[bootstrap] values must be finite, got NaN or infinity");
  if (!(options.share > 0.0 && options.share < 1.0))
    throw ConfigError("[bootstrap] share must lie between 0 and 1, got " +
                      std::to_string(options.share));
  if (options.resamples * (1.0 - options.share) < 1.0 - 1e-9)
    throw ConfigError("[bootstrap] a share of " + std::to_string(options.share) +
                      " needs at least 1 / (1 - share) resamples, got " +
                      std::to_string(options.resamples));
}

std::vector<Group> groups_of(std::span<const double> values, std::span<const std::int64_t> groups) {
  std::map<std::int64_t, Group> by_name;
  for (std::size_t i = 0; i < values.size(); ++i)
    by_name[groups[i]] += {.sum = values[i], .count = 1.0};
  if (by_name.size() < 2)
    throw DataError("[bootstrap] a bound needs at least two groups, got " +
                    std::to_string(by_name.size()) + "; measure more of them");
  std::vector<Group> all;
  for (const auto& [name, group] : by_name)
    all.push_back(group);
  return all;
}

double resampled_mean(const std::vector<Group>& groups, Random& random) {
  Group drawn;
  for (std::size_t i = 0; i < groups.size(); ++i)
    drawn += groups[static_cast<std::size_t>(random.below(std::ssize(groups)))];
  return drawn.sum / drawn.count;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - std::floor(place));
}

}  // namespace

BootstrapBound bootstrap_lower_bound(std::span<const double> values,
                                     std::span<const std::int64_t> groups,
                                     const BootstrapOptions& options) {
  check(values, groups, options);
  const std::vector<Group> all = groups_of(values, groups);
  Group total;
  for (const Group& group : all)
    total += group;
  std::vector<double> means;
  for (int resample = 0; resample < options.resamples; ++resample) {
    Random random({.seed = options.seed, .loader = hash_name("bootstrap"), .position = resample});
    means.push_back(resampled_mean(all, random));
  }
  return {.mean = total.sum / total.count,
          .lower = quantile(std::move(means), 1.0 - options.share)};
}

}  // namespace headrace::inline v1::models
