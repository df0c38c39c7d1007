#include <headrace/apps/jobs/camouflage/split_sources.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t validation = 1;
constexpr std::size_t test = 2;

template <class Value>
void shuffle(std::vector<Value>& values, std::uint64_t seed, std::string_view what) {
  Random random({.seed = seed, .loader = hash_name(what)});
  for (std::size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1],
              values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(left)))]);
}

struct Shares {
  double validation;
  double test;
};

/// The part of the i-th of so many in a drawn order; fewer than three are all trained on.
std::size_t part_of(std::size_t i, std::size_t count, const Shares& shares) {
  if (count < camouflage_parts) return 0;
  const auto share = [count](double of) {
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(std::lround(of * static_cast<double>(count))));
  };
  if (i < share(shares.test)) return test;
  return i < share(shares.test) + share(shares.validation) ? validation : 0;
}

}  // namespace

std::vector<std::size_t> split_animals(const std::vector<SourceToSplit>& animals,
                                       std::uint64_t seed) {
  // A kind counts where it was met first.
  std::map<std::size_t, std::vector<std::string>> kinds;
  std::set<std::string> met;
  for (const SourceToSplit& animal : animals)
    if (met.insert(animal.kind).second) kinds[animal.super_class].push_back(animal.kind);
  std::map<std::string, std::size_t> part_of_kind;
  for (auto& [super_class, names] : kinds) {
    std::ranges::sort(names);
    shuffle(names, seed + super_class, "camouflage animals");
    for (std::size_t i = 0; i < names.size(); ++i)
      part_of_kind[names[i]] = part_of(i, names.size(), {.validation = 0.12, .test = 0.12});
  }
  std::vector<std::size_t> parts;
  for (const SourceToSplit& animal : animals)
    parts.push_back(part_of_kind.at(animal.kind));
  return parts;
}

std::vector<std::size_t> split_backgrounds(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i)
    order[i] = i;
  shuffle(order, seed, "camouflage backgrounds");
  std::vector<std::size_t> parts(count);
  for (std::size_t i = 0; i < count; ++i)
    parts[order[i]] = part_of(i, count, {.validation = 1.0 / 12.0, .test = 2.0 / 12.0});
  return parts;
}

}  // namespace headrace::inline v1::app
