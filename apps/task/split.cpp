#include <headrace/apps/task/split.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

double share(const std::optional<double>& wanted) {
  return wanted.value_or(SplitSettings::usual);
}

// Records that stay together, and how many they have of each class.
struct Group {
  std::vector<std::int64_t> records{};
  std::vector<std::pair<std::size_t, double>> classes{};
};

std::size_t class_count(const SplitRecords& records) {
  std::int64_t largest = -1;
  for (const auto& own : records.classes)
    for (const std::int64_t one : own)
      largest = std::max(largest, one);
  return static_cast<std::size_t>(largest + 1);
}

// The last column counts records, whatever their classes.
std::vector<Group> groups_of(const SplitRecords& records, std::size_t classes) {
  const bool grouped = !records.groups.empty();
  std::vector<Group> groups(static_cast<std::size_t>(
      grouped ? *std::max_element(records.groups.begin(), records.groups.end()) + 1
              : records.size));
  for (std::int64_t i = 0; i < records.size; ++i) {
    const auto place = static_cast<std::size_t>(i);
    groups[grouped ? static_cast<std::size_t>(records.groups[place]) : place].records.push_back(i);
  }
  std::erase_if(groups, [](const Group& group) { return group.records.empty(); });
  std::vector<double> counts(classes + 1, 0.0);
  for (Group& group : groups) {
    for (const std::int64_t record : group.records)
      if (!records.classes.empty())
        for (const std::int64_t one : records.classes[static_cast<std::size_t>(record)])
          counts[static_cast<std::size_t>(one)] += 1.0;
    counts[classes] = static_cast<double>(group.records.size());
    for (std::size_t c = 0; c <= classes; ++c)
      if (counts[c] > 0.0) group.classes.emplace_back(c, std::exchange(counts[c], 0.0));
  }
  return groups;
}

// Large groups first, then those of rare classes; equals in an order by chance.
void arrange(std::vector<Group>& groups, const std::vector<double>& totals, std::uint64_t seed) {
  Random random({.seed = seed, .loader = hash_name("split")});
  for (std::size_t i = groups.size(); i > 1; --i)
    std::swap(groups[i - 1],
              groups[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  const auto rarest = [&](const Group& group) {
    double least = totals.back();
    for (const auto& [one, count] : group.classes)
      least = std::min(least, totals[one]);
    return least;
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    if (a.records.size() != b.records.size()) return a.records.size() > b.records.size();
    return rarest(a) < rarest(b);
  });
}

// How much nearer a part comes to what it should have, in shares of each class; of all records only
// so much that it decides where classes do not.
double gain(const Group& group, const std::vector<double>& missing,
            const std::vector<double>& totals) {
  double sum = 0.0;
  for (const auto& [one, count] : group.classes) {
    const bool is_class = one + 1 < totals.size();
    const double weight = is_class ? 1.0 : 0.5 / totals.back();
    sum += weight * count * (2.0 * missing[one] - count) / totals[one];
  }
  return sum;
}

void require_part(const std::vector<std::int64_t>& part, const char* name, const std::string& key,
                  const SplitRecords& records) {
  if (!part.empty()) return;
  const std::set<std::int64_t> groups(records.groups.begin(), records.groups.end());
  throw DataError(fmt::format(
      "[split] {}: must leave records for the {}, but {} records{} leave none; give it {}{}", key,
      name, records.size,
      groups.empty()
          ? ""
          : fmt::format(" in {} group{} that stay{} whole (data.split.group, data.duplicates)",
                        groups.size(), groups.size() == 1 ? "" : "s",
                        groups.size() == 1 ? "s" : ""),
      key == "data.split.folds" ? "fewer folds" : "a larger share, or 0 to do without",
      groups.empty() ? ""
                     : "; where copies join groups (a blank picture of every patient, say), take "
                       "them out, or set data.duplicates: allow"));
}

std::vector<std::int64_t> joined(const std::vector<std::vector<std::int64_t>>& parts,
                                 std::size_t without) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i != without) all.insert(all.end(), parts[i].begin(), parts[i].end());
  std::sort(all.begin(), all.end());
  return all;
}

// What is known of some records, which come to be numbers from 0.
SplitRecords only(const SplitRecords& records, const std::vector<std::int64_t>& rows) {
  SplitRecords some{.size = static_cast<std::int64_t>(rows.size())};
  for (const std::int64_t row : rows) {
    const auto place = static_cast<std::size_t>(row);
    if (!records.classes.empty()) some.classes.push_back(records.classes[place]);
    if (!records.groups.empty()) some.groups.push_back(records.groups[place]);
  }
  return some;
}

std::vector<std::int64_t> picked(const std::vector<std::int64_t>& rows,
                                 const std::vector<std::int64_t>& numbers) {
  std::vector<std::int64_t> some;
  some.reserve(numbers.size());
  for (const std::int64_t number : numbers)
    some.push_back(rows[static_cast<std::size_t>(number)]);
  return some;
}

// Each fold is the test of a member that a part of the others has selected.
std::vector<SplitParts> nested_folds_of(const SplitRecords& records, const SplitSettings& split,
                                        std::uint64_t seed) {
  const double validation = share(split.validation);
  const auto folds =
      divide(records, std::vector<double>(static_cast<std::size_t>(split.folds), 1.0), seed);
  std::vector<SplitParts> members;
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    require_part(folds[fold], "test of every fold", "data.split.folds", records);
    const std::vector<std::int64_t> others = joined(folds, fold);
    const auto parts = divide(only(records, others), {1.0 - validation, validation}, seed);
    require_part(parts[0], "training of every fold", "data.split.folds", records);
    if (validation > 0.0)
      require_part(parts[1], "validation of every fold", "data.split.validation", records);
    members.push_back({.train = picked(others, parts[0]),
                       .validation = picked(others, parts[1]),
                       .test = folds[fold]});
  }
  return members;
}

// A member for each fold of the records that are left.
std::vector<SplitParts> folds_of(const SplitRecords& records, const SplitSettings& split,
                                 std::uint64_t seed) {
  const double test_share = share(split.test);
  const double rest = (1.0 - test_share) / split.folds;
  std::vector<double> shares(static_cast<std::size_t>(split.folds), rest);
  if (test_share > 0.0) shares.push_back(test_share);
  auto parts = divide(records, shares, seed);
  std::vector<std::int64_t> test;
  if (test_share > 0.0) {
    test = std::move(parts.back());
    parts.pop_back();
    require_part(test, "test", "data.split.test", records);
  }
  std::vector<SplitParts> members;
  for (std::size_t fold = 0; fold < parts.size(); ++fold) {
    require_part(parts[fold], "validation of every fold", "data.split.folds", records);
    members.push_back({.train = joined(parts, fold), .validation = parts[fold], .test = test});
  }
  return members;
}

}  // namespace

void join_groups(SplitRecords& records,
                 const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
  if (pairs.empty()) return;
  std::vector<std::int64_t>& groups = records.groups;
  if (groups.empty()) {
    groups.resize(static_cast<std::size_t>(records.size));
    std::iota(groups.begin(), groups.end(), 0);
  }
  // Each group points to one that it is joined to, or to itself.
  std::vector<std::size_t> next(
      static_cast<std::size_t>(*std::max_element(groups.begin(), groups.end()) + 1));
  std::iota(next.begin(), next.end(), 0);
  const auto last = [&](std::int64_t group) {
    auto at = static_cast<std::size_t>(group);
    for (; next[at] != at; at = next[at])
      next[at] = next[next[at]];
    return at;
  };
  for (const auto& [a, b] : pairs)
    next[last(groups[static_cast<std::size_t>(a)])] = last(groups[static_cast<std::size_t>(b)]);
  for (std::int64_t& group : groups)
    group = static_cast<std::int64_t>(last(group));
}

void describe(Fields& fields, SplitSettings& split) {
  const auto part = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc) +
                             "; 0: none; null: 0.15, or none where such records "
                             "are named",
                      .min = 0.0,
                      .below = 1.0};
  };
  KeyOptions validation = part("share of the records that select weights");
  validation.used_if = [&split] { return split.folds == 0 || split.nested; };
  validation.used_when = "data.split.folds is 0 or data.split.nested is true";
  fields.key("validation", split.validation, std::move(validation));
  KeyOptions test = part("share of the records that select nothing");
  test.used_if = [&split] { return split.folds == 0 || !split.nested; };
  test.used_when = "data.split.nested is false";
  fields.key("test", split.test, std::move(test));
  fields.key("stratify", split.stratify, {.doc = "every part has the classes in the same shares"});
  fields.key(
      "group", split.group,
      {.doc = "who has the same there (a patient, say) is never on two sides: a column of a "
              "manifest, or a pattern over names (docs/image-data.md); empty: the column group, if "
              "it is there"});
  fields.key("folds", split.folds,
             {.doc = "parts of what is not for the test, each the validation of a network of its "
                     "own; 0: one network",
              .min = 0.0,
              .max = 100.0});
  fields.key("nested", split.nested,
             {.doc = "each fold is the test of its network instead, which a share of the others, "
                     "data.split.validation, selects: no figure that is reported has selected",
              .used_if = [&split] { return split.folds > 0; },
              .used_when = "data.split.folds is above 0"});
}

void check(const SplitSettings& split) {
  if (split.folds == 1)
    throw ConfigError("[config] data.split.folds must be 0 for one network, or at least 2, got 1");
  if (split.nested && split.folds == 0)
    throw ConfigError(
        "[config] data.split.nested is for folds; set data.split.folds to 2 or more, or leave it "
        "out");
  if (split.folds == 0 && share(split.validation) + share(split.test) >= 1.0)
    throw ConfigError(fmt::format(
        "[config] data.split: validation and test must leave something to train on, got {} and {}",
        share(split.validation), share(split.test)));
}

std::vector<std::vector<std::int64_t>> divide(const SplitRecords& records,
                                              const std::vector<double>& shares,
                                              std::uint64_t seed) {
  const std::size_t classes = class_count(records);
  std::vector<Group> groups = groups_of(records, classes);
  std::vector<double> totals(classes + 1, 0.0);
  for (const Group& group : groups)
    for (const auto& [one, count] : group.classes)
      totals[one] += count;
  arrange(groups, totals, seed);

  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::vector<double>> missing;  // of each part and class
  for (const double share : shares) {
    missing.push_back(totals);
    for (double& count : missing.back())
      count *= share / sum;
  }
  std::vector<std::vector<std::int64_t>> parts(shares.size());
  for (const Group& group : groups) {
    std::size_t best = 0;
    for (std::size_t part = 1; part < parts.size(); ++part) {
      if (shares[part] <= 0.0) continue;
      if (gain(group, missing[part], totals) > gain(group, missing[best], totals)) best = part;
    }
    for (const auto& [one, count] : group.classes)
      missing[best][one] -= count;
    parts[best].insert(parts[best].end(), group.records.begin(), group.records.end());
  }
  for (auto& part : parts)
    std::sort(part.begin(), part.end());
  return parts;
}

std::vector<SplitParts> split_records(SplitRecords records, const SplitSettings& split,
                                      std::uint64_t seed) {
  check(split);
  if (!split.stratify) records.classes.clear();
  if (split.folds > 0)
    return split.nested ? nested_folds_of(records, split, seed) : folds_of(records, split, seed);
  const double validation = share(split.validation);
  const double test = share(split.test);
  const auto parts = divide(records, {1.0 - validation - test, validation, test}, seed);
  require_part(parts[0], "training", "data.split", records);
  if (validation > 0.0) require_part(parts[1], "validation", "data.split.validation", records);
  if (test > 0.0) require_part(parts[2], "test", "data.split.test", records);
  return {{.train = parts[0], .validation = parts[1], .test = parts[2]}};
}

}  // namespace headrace::inline v1::app
