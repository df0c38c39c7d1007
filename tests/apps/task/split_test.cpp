#include <headrace/apps/task/split.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using headrace::ConfigError;
using headrace::DataError;

namespace {

SplitRecords records_of(const std::vector<std::int64_t>& counts) {
  SplitRecords records;
  for (std::size_t label = 0; label < counts.size(); ++label)
    for (std::int64_t i = 0; i < counts[label]; ++i)
      records.classes.push_back({static_cast<std::int64_t>(label)});
  records.size = static_cast<std::int64_t>(records.classes.size());
  return records;
}

std::vector<std::int64_t> counts_of(const SplitRecords& records,
                                    const std::vector<std::int64_t>& rows, std::size_t classes) {
  std::vector<std::int64_t> counts(classes, 0);
  for (const std::int64_t row : rows)
    ++counts[static_cast<std::size_t>(records.classes[static_cast<std::size_t>(row)][0])];
  return counts;
}

std::set<std::int64_t> groups_of(const SplitRecords& records,
                                 const std::vector<std::int64_t>& rows) {
  std::set<std::int64_t> groups;
  for (const std::int64_t row : rows)
    groups.insert(records.groups[static_cast<std::size_t>(row)]);
  return groups;
}

bool meet(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::int64_t one) { return b.contains(one); });
}

// Every record is in one part, and parts ascend.
void check_whole(const SplitRecords& records, const SplitParts& parts) {
  std::vector<std::int64_t> all;
  for (const auto* part : {&parts.train, &parts.validation, &parts.test}) {
    CHECK(std::is_sorted(part->begin(), part->end()));
    all.insert(all.end(), part->begin(), part->end());
  }
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == static_cast<std::size_t>(records.size));
  for (std::int64_t i = 0; i < records.size; ++i)
    CHECK(all[static_cast<std::size_t>(i)] == i);
}

}  // namespace

TEST_CASE("every part of a split has its share of every class within one record") {
  const SplitRecords records = records_of({700, 200, 61, 33});
  const auto members = split_records(records, {.validation = 0.15, .test = 0.2}, 3);
  REQUIRE(members.size() == 1);
  check_whole(records, members[0]);
  const std::vector<double> all{700, 200, 61, 33};
  const auto validation = counts_of(records, members[0].validation, 4);
  const auto test = counts_of(records, members[0].test, 4);
  for (std::size_t label = 0; label < 4; ++label) {
    CHECK(std::abs(static_cast<double>(validation[label]) - 0.15 * all[label]) <= 1.0);
    CHECK(std::abs(static_cast<double>(test[label]) - 0.2 * all[label]) <= 1.0);
  }
}

TEST_CASE("a split without stratifying keeps the shares of records alone") {
  const SplitRecords records = records_of({90, 10});
  const auto members = split_records(records, {.validation = 0.1, .test = 0, .stratify = false}, 3);
  CHECK(members[0].validation.size() == 10);
  CHECK(members[0].test.empty());
}

TEST_CASE("the split is a function of the seed") {
  const SplitRecords records = records_of({50, 50});
  const auto split = [&](std::uint64_t seed) { return split_records(records, {}, seed)[0].test; };
  CHECK(split(1) == split(1));
  CHECK(split(1) != split(2));
}

TEST_CASE("a group is never on two sides, and shares are kept as nearly as groups allow") {
  SplitRecords records = records_of({300, 100});
  for (std::int64_t i = 0; i < records.size; ++i)
    records.groups.push_back(i % 57);  // each has seven records or eight, of both classes
  const auto members = split_records(records, {.validation = 0.2, .test = 0.2}, 9);
  const SplitParts& parts = members[0];
  check_whole(records, parts);
  const auto train = groups_of(records, parts.train);
  const auto validation = groups_of(records, parts.validation);
  const auto test = groups_of(records, parts.test);
  CHECK_FALSE(meet(train, validation));
  CHECK_FALSE(meet(train, test));
  CHECK_FALSE(meet(validation, test));
  CHECK(std::abs(static_cast<double>(parts.validation.size()) - 80.0) <= 8.0);
  CHECK(std::abs(static_cast<double>(counts_of(records, parts.test, 2)[1]) - 20.0) <= 4.0);
}

TEST_CASE("folds share the test, and each record is the validation of one fold") {
  SplitRecords records = records_of({40, 25});
  const auto members = split_records(records, {.test = 0.2, .folds = 4}, 5);
  REQUIRE(members.size() == 4);
  std::vector<int> validated(65, 0);
  for (const SplitParts& parts : members) {
    check_whole(records, parts);
    CHECK(parts.test == members[0].test);
    for (const std::int64_t row : parts.validation)
      ++validated[static_cast<std::size_t>(row)];
  }
  CHECK(std::count(validated.begin(), validated.end(), 1) ==
        65 - static_cast<std::int64_t>(members[0].test.size()));
}

TEST_CASE("nested folds test each record once, on a network that neither learnt nor chose by it") {
  SplitRecords records = records_of({60, 30});
  for (std::int64_t i = 0; i < records.size; ++i)
    records.groups.push_back(i % 31);
  const auto members = split_records(records, {.validation = 0.25, .folds = 3, .nested = true}, 5);
  REQUIRE(members.size() == 3);
  std::vector<int> tested(90, 0);
  for (const SplitParts& parts : members) {
    check_whole(records, parts);
    for (const std::int64_t row : parts.test)
      ++tested[static_cast<std::size_t>(row)];
    const auto test = groups_of(records, parts.test);
    CHECK_FALSE(meet(test, groups_of(records, parts.train)));
    CHECK_FALSE(meet(test, groups_of(records, parts.validation)));
    CHECK_FALSE(meet(groups_of(records, parts.train), groups_of(records, parts.validation)));
    CHECK(std::abs(static_cast<double>(parts.test.size()) - 30.0) <= 3.0);
    CHECK(std::abs(static_cast<double>(parts.validation.size()) - 15.0) <= 3.0);
    CHECK(std::abs(static_cast<double>(counts_of(records, parts.test, 2)[1]) - 10.0) <= 3.0);
  }
  CHECK(std::count(tested.begin(), tested.end(), 1) == 90);
  CHECK_THROWS_AS(split_records(records, {.nested = true}, 1), ConfigError);
}

TEST_CASE("of folds a group is in one alone, and each has its share of every class") {
  SplitRecords records = records_of({300, 100});
  for (std::int64_t i = 0; i < records.size; ++i)
    records.groups.push_back(i % 57);
  const auto members = split_records(records, {.test = 0.2, .folds = 4}, 9);
  REQUIRE(members.size() == 4);
  for (const SplitParts& parts : members) {
    check_whole(records, parts);
    const auto validation = groups_of(records, parts.validation);
    CHECK_FALSE(meet(validation, groups_of(records, parts.train)));
    CHECK_FALSE(meet(validation, groups_of(records, parts.test)));
    CHECK_FALSE(meet(groups_of(records, parts.train), groups_of(records, parts.test)));
    const auto counts = counts_of(records, parts.validation, 2);
    CHECK(std::abs(static_cast<double>(counts[0]) - 60.0) <= 6.0);  // a group has six, and two
    CHECK(std::abs(static_cast<double>(counts[1]) - 20.0) <= 3.0);
  }
}

TEST_CASE("groups that pairs of records join in a chain are one, and stay whole") {
  SplitRecords alone = records_of({4, 3});
  join_groups(alone, {});
  CHECK(alone.groups.empty());
  join_groups(alone, {{6, 0}, {3, 6}, {2, 2}});
  CHECK(groups_of(alone, {0, 3, 6}).size() == 1);
  CHECK(groups_of(alone, {0, 1, 2, 4, 5}).size() == 5);

  // Patients of ten records; the last record of every even one is a copy of the next one's first.
  SplitRecords records = records_of({400});
  std::vector<std::pair<std::int64_t, std::int64_t>> copies;
  for (std::int64_t i = 0; i < records.size; ++i) {
    records.groups.push_back(i / 10);
    if (i % 20 == 9) copies.emplace_back(i, i + 1);
  }
  join_groups(records, copies);
  for (const auto& [a, b] : copies)
    CHECK(groups_of(records, {a - 9, a, b, b + 9}).size() == 1);
  CHECK(std::set<std::int64_t>(records.groups.begin(), records.groups.end()).size() == 20);
  const SplitParts parts = split_records(records, {.validation = 0.2, .test = 0.2}, 2)[0];
  check_whole(records, parts);
  CHECK_FALSE(meet(groups_of(records, parts.train), groups_of(records, parts.validation)));
  CHECK_FALSE(meet(groups_of(records, parts.train), groups_of(records, parts.test)));
  CHECK_FALSE(meet(groups_of(records, parts.validation), groups_of(records, parts.test)));
}

TEST_CASE("joining a million records in one long chain takes no longer than once along it") {
  constexpr std::int64_t count = 1'000'000;
  SplitRecords records{.size = count};
  std::vector<std::pair<std::int64_t, std::int64_t>> chain;
  for (std::int64_t i = 0; i + 1 < count; ++i)
    chain.emplace_back(i % 2 == 0 ? i : i + 1, i % 2 == 0 ? i + 1 : i);
  join_groups(records, chain);
  CHECK(std::count(records.groups.begin(), records.groups.end(), records.groups[0]) == count);
}

TEST_CASE("records with several classes are divided by all of them") {
  SplitRecords records;
  records.size = 200;
  for (std::int64_t i = 0; i < 200; ++i) {
    std::vector<std::int64_t> own;
    if (i % 2 == 0) own.push_back(0);
    if (i % 10 < 3) own.push_back(1);
    if (i % 40 == 7) own.push_back(2);
    records.classes.push_back(own);
  }
  const auto members = split_records(records, {.validation = 0.2, .test = 0.2}, 1);
  std::vector<int> rare;
  for (const auto* part : {&members[0].train, &members[0].validation, &members[0].test}) {
    int count = 0;
    for (const std::int64_t row : *part)
      if (row % 40 == 7) ++count;
    rare.push_back(count);
  }
  CHECK(rare == std::vector<int>{3, 1, 1});
}

TEST_CASE("a part that would be empty is refused with the key that asks for it") {
  SplitRecords records = records_of({3});
  records.groups = {0, 0, 0};
  try {
    split_records(records, {.validation = 0.3, .test = 0}, 1);
    FAIL("one group cannot be divided");
  } catch (const DataError& error) {
    CHECK(std::string(error.what()).find("data.split.validation") != std::string::npos);
  }
  CHECK_THROWS_AS(split_records(records_of({10}), {.validation = 0.6, .test = 0.5}, 1),
                  ConfigError);
  CHECK_THROWS_AS(split_records(records_of({10}), {.folds = 1}, 1), ConfigError);
}
