// The table of rules, and of what they compare with.
#include <headrace/engine/base/error.h>
#include <headrace/tests/monitor/run_window.h>

#include <cmath>
#include <set>
#include <string_view>

using namespace headrace::test;

TEST_CASE("the table has rules 1 to 24, each once, with names of their own") {
  std::set<std::string_view> names;
  int number = 0;
  for (const AdviceRule& rule : advice_rules()) {
    CAPTURE(rule.number);
    CHECK(rule.number == ++number);
    CHECK_FALSE(rule.names.empty());
    for (const std::string_view name : rule.names)
      CHECK_MESSAGE(names.insert(name).second, name);
    CHECK_FALSE(rule.when.empty());
    CHECK_FALSE(rule.says.empty());
    CHECK(rule.patience >= 1);
    CHECK((rule.look != nullptr));
  }
  CHECK(number == 24);
}

TEST_CASE(
    "a rule compares with thresholds that are documented, and each threshold is some rule's") {
  std::set<std::string_view> used;
  for (const AdviceRule& rule : advice_rules()) {
    CAPTURE(rule.number);
    CHECK_FALSE(rule.thresholds.empty());
    used.insert(rule.thresholds.begin(), rule.thresholds.end());
  }
  std::set<std::string_view> documented;
  for (const AdviceThreshold& threshold : advice_thresholds()) {
    CHECK(documented.insert(threshold.name).second);
    CHECK_FALSE(threshold.of.empty());
    CHECK_FALSE(threshold.source.empty());
  }
  CHECK(used == documented);
  CHECK(documented.size() == sizeof(AdviceThresholds) / sizeof(double));
}

TEST_CASE("a threshold is set by its name; a wrong name or value is refused") {
  AdviceThresholds thresholds;
  set(thresholds, "read_amplification", 9.0);
  CHECK(thresholds.read_amplification == 9.0);
  RunFacts facts = window();
  facts.reads = ReadFacts{.bytes_read = 80e9, .bytes_used = 10e9};
  CHECK(said(6, facts).has_value());
  CHECK_FALSE(said(6, facts, thresholds).has_value());
  CHECK_THROWS_AS(set(thresholds, "patience", 1.0), headrace::ConfigError);
  CHECK_THROWS_AS(set(thresholds, "growth", -1.0), headrace::ConfigError);
  CHECK_THROWS_AS(set(thresholds, "growth", std::nan("")), headrace::ConfigError);
}

TEST_CASE("no rule speaks without facts") {
  RunFacts wanted;
  wanted.gpu_wanted = true;
  for (const AdviceRule& rule : advice_rules()) {
    CAPTURE(rule.number);
    CHECK_FALSE(rule.look({}, {}).has_value());
    CHECK_FALSE(rule.look(wanted, {}).has_value());
  }
}

TEST_CASE("each optional fact may be absent from a window in which all is wrong") {
  RunFacts facts = window({.read_s = 0.012, .gpu_busy = 0.1});
  facts.reads = ReadFacts{.bytes_read = 80e9, .bytes_used = 10e9};
  facts.reorder_wait_s = 1e3;
  for (const AdviceRule& rule : advice_rules()) {
    CAPTURE(rule.number);
    for (int fact = 0; fact < 8; ++fact) {
      RunFacts without = facts;
      if (fact == 0) without.machine.reset();
      if (fact == 1) without.gpu.reset();
      if (fact == 2) without.reads.reset();
      if (fact == 3) without.settings = {};
      if (fact == 4) without.budget = {};
      if (fact == 5) without.load = {};
      if (fact == 6) without.verdict = {};
      if (fact == 7) without.allocator.reset();
      CHECK_NOTHROW(rule.look(without, {}));
    }
  }
}

TEST_CASE("what a loader counted becomes facts") {
  headrace::LoaderStats stats;
  stats.threads = 3;
  stats.reorder_wait_s = 1.5;
  RunFacts facts;
  fill(facts, stats);
  CHECK(facts.load.threads == 3);
  CHECK(facts.reorder_wait_s == 1.5);
  CHECK_FALSE(facts.page_locked.has_value());
  stats.transfer.copies = 1;
  fill(facts, stats);
  CHECK(facts.page_locked == false);
  PhaseMemory memory{.peak = 7};
  fill(facts, memory);
  CHECK_FALSE(facts.allocator.has_value());
  memory.on_gpu = true;
  fill(facts, memory);
  CHECK(facts.allocator->peak == 7);
}
