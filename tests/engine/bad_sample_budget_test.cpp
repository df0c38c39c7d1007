// Which bad samples count against a budget: those of delivered batches, once in each pass.
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace;
using namespace headrace::test;

namespace {

/// Records of which some are bad, in their order.
Pipeline some_bad(std::set<std::int64_t> bad, const BadSamples& rule) {
  const auto refuse = [bad = std::move(bad)](std::int64_t index) {
    if (bad.count(index) != 0) throw DataError("torn");
  };
  return Pipeline::from(table({.records = 100}, refuse))
      .named("validation")
      .on_bad_sample(rule)
      .batch({.size = 10});
}

}  // namespace

TEST_CASE("the share of bad samples is one pass's, however often an epoch is repeated") {
  Watchdog watchdog("a validation epoch repeated");
  Loader loader = some_bad({5}, {.rule = BadSamples::Rule::shrink, .most_share = 0.02}).build();
  for (int pass = 0; pass < 6; ++pass) {
    std::int64_t batches = 0;
    for (Batch& batch : loader.epoch(0))
      batches += batch.size() == 10;
    CHECK(batches == 10);
  }
  CHECK(loader.stats().bad_samples == 6);
}

TEST_CASE("bad samples of batches that were never delivered do not count, for 1, 2 and 8 threads") {
  Watchdog watchdog("bad samples ahead of the trainer");
  for (const int threads : {1, 2, 8}) {
    for (const BadSamples::Rule rule : {BadSamples::Rule::shrink, BadSamples::Rule::replace}) {
      const TemporaryFolder folder;
      const std::filesystem::path path = folder / "bad_samples.jsonl";
      Loader loader = some_bad({12, 25, 31}, {.rule = rule, .most = 2, .log = path})
                          .build({.prefetch = 6, .runtime = Runtime({.threads = threads})});
      // Each time the first batch alone is taken; the others are read ahead and left.
      for (int pass = 0; pass < 10; ++pass) {
        const Epoch epoch = loader.epoch(0);
        CHECK(loader.next().batch.number() == 0);
        std::this_thread::sleep_for(1ms);
      }
      CHECK(loader.stats().bad_samples == 0);
      // Delivered, the third is one too many: in its own place, whatever was read ahead of it.
      std::int64_t delivered = 0;
      const auto read = [&] {
        for (Batch& batch : loader.epoch(0))
          delivered = batch.number() + 1;
      };
      CHECK_THROWS_WITH_AS(read(), doctest::Contains("position 31, row-31"), PipelineError);
      CHECK(delivered == 3);
      CHECK(loader.stats().bad_samples == 3);
      std::ifstream log(path);
      std::vector<std::int64_t> positions;
      for (std::string line; std::getline(log, line);)
        positions.push_back(nlohmann::json::parse(line)["position"].get<std::int64_t>());
      CHECK(positions == std::vector<std::int64_t>{12, 25, 31});
    }
  }
}

TEST_CASE("a log that could not be written goes on once there is space again") {
  Watchdog watchdog("a log without space");
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "bad_samples.jsonl";
  std::filesystem::create_symlink("/dev/full", path);
  Loader loader = some_bad({5}, {.rule = BadSamples::Rule::shrink, .log = path}).build();
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("cannot be"), PipelineError);
  std::filesystem::remove(path);
  std::int64_t rows = 0;
  for (Batch& batch : loader.epoch(1))
    rows += batch.size();
  CHECK(rows == 100);
  std::ifstream log(path);
  std::string line;
  CHECK(std::getline(log, line));
}

TEST_CASE("messages name the rule as a configuration calls it, where it has one") {
  Watchdog watchdog("names of the rule");
  const auto read = [](const BadSamples& rule) {
    Loader loader = some_bad({12, 25}, rule).build();
    for (Batch& batch : loader.epoch(0))
      static_cast<void>(batch);
  };
  const std::string key = "data.bad_samples";
  CHECK_THROWS_WITH_AS(read({.setting = key}),
                       doctest::Contains("torn; mend the file, or set data.bad_samples.rule: "
                                         "replace to take another record in its place"),
                       DataError);
  CHECK_THROWS_WITH_AS(read({}), doctest::Contains(": torn"), DataError);
  for (const BadSamples::Rule rule : {BadSamples::Rule::shrink, BadSamples::Rule::replace}) {
    CHECK_THROWS_WITH_AS(read({.rule = rule, .most = 1, .setting = key}),
                         doctest::Contains("raise data.bad_samples.most"), PipelineError);
    CHECK_THROWS_WITH_AS(read({.rule = rule, .most_share = 0.01, .setting = key}),
                         doctest::Contains("raise data.bad_samples.most_share"), PipelineError);
    CHECK_THROWS_WITH_AS(read({.rule = rule, .most_share = 0.01}),
                         doctest::Contains("raise BadSamples.most_share"), PipelineError);
  }
}

TEST_CASE("without a file for them the log is told of each") {
  Watchdog watchdog("warnings of bad samples");
  const auto warnings = [](const BadSamples& rule) {
    std::vector<std::string> told;
    Loader loader =
        some_bad({12, 25}, rule).build({.log = [&told](LogLevel level, std::string_view line) {
          if (level == LogLevel::warning) told.emplace_back(line);
        }});
    for (Batch& batch : loader.epoch(0))
      static_cast<void>(batch);
    return told;
  };
  const auto left_out = warnings({.rule = BadSamples::Rule::shrink});
  REQUIRE(left_out.size() == 2);
  CHECK(left_out[0] ==
        "[validation] sample 12 (epoch 0, position 12, row-12): read: torn; it is left out");
  const auto replaced = warnings({.rule = BadSamples::Rule::replace});
  REQUIRE(replaced.size() == 2);
  CHECK(replaced[1].starts_with("[validation] sample 25 (epoch 0, position 25, row-25): read: "));
  CHECK(replaced[1].ends_with(" takes its place"));
  const TemporaryFolder folder;
  CHECK(warnings({.rule = BadSamples::Rule::shrink, .log = folder / "bad.jsonl"}).empty());
}
