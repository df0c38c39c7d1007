#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t all_records = 96;
const std::set<std::int64_t> bad_records{3, 17, 18, 40, 95};

enum class Where { read, gather, blocking, step };
constexpr Where everywhere[] = {Where::read, Where::gather, Where::blocking, Where::step};

void refuse_bad(std::int64_t index) {
  if (bad_records.count(index) != 0) throw DataError("the record is truncated, got 8 of 16 bytes");
}

std::shared_ptr<TableSource> source_of(Where where) {
  return table({.records = all_records,
                .gathers = where == Where::gather,
                .blocking = where == Where::blocking},
               where == Where::step ? TableSource::Hook{} : TableSource::Hook{refuse_bad});
}

/// A gathering source is delivered as it is, the others pass through steps of which the last may
/// fail.
Pipeline steps_on(Where where, std::shared_ptr<const Source> source) {
  if (where == Where::gather) return rows_of_source(std::move(source));
  const bool in_step = where == Where::step;
  return work_on(std::move(source), true)
      .then(
          [in_step](Sample& sample) {
            if (in_step) refuse_bad(sample.origin().index);
          },
          {.name = "check"});
}

Pipeline spoiled(Where where, const BadSamples& rule) {
  return steps_on(where, source_of(where)).on_bad_sample(rule).batch({.size = 8});
}

std::vector<std::string> clean_rows(Where where, const Runtime& runtime) {
  const Where shape = where == Where::gather ? Where::gather : Where::read;
  Loader loader =
      steps_on(shape, table({.records = all_records, .gathers = where == Where::gather}))
          .batch({.size = 8})
          .build({.runtime = runtime});
  return stream_of(loader, 0, 2).rows;
}

/// Rows of the fields that a clean run has too, and which of them are samples.
struct Seen {
  std::vector<std::string> rows;
  std::vector<std::string> values;
  std::vector<std::int64_t> indices;
  std::vector<bool> valid;
};

Seen deliver(Where where, const BadSamples& rule, const Runtime& runtime, bool fuse = true) {
  Loader loader = spoiled(where, rule).build({.fuse = fuse, .runtime = runtime});
  Seen out;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (std::int64_t row = 0; row < batch.size(); ++row) {
        out.indices.push_back(batch["index"].row(row).item<std::int64_t>());
        out.values.push_back(bytes_of(batch["value"].row(row)));
        out.rows.push_back(bytes_of(batch["index"].row(row)) + out.values.back() +
                           (batch.has("sum") ? bytes_of(batch["sum"].row(row)) : ""));
        out.valid.push_back(!batch.has("valid") || batch["valid"].row(row).item<bool>());
      }
    }
  }
  return out;
}

/// The record that the order put at each place of the two epochs.
std::vector<std::int64_t> ordered() {
  auto order = Shuffled{.seed = 7}.bind(all_records);
  std::vector<std::int64_t> indices(2 * all_records);
  order->indices(0, 0, {indices.data(), all_records});
  order->indices(1, 0, {indices.data() + all_records, all_records});
  return indices;
}

std::filesystem::path scratch(const char* name) {
  const auto path = std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name);
  std::filesystem::remove(path);
  return path;
}

}  // namespace

TEST_CASE(
    "rule fail: the epoch ends with the stage, the record and its file, after all earlier "
    "batches") {
  Watchdog watchdog("rule fail");
  const std::vector<std::int64_t> order = ordered();
  const auto first =
      std::find_if(order.begin(), order.end(), [](auto i) { return bad_records.count(i) != 0; });
  const std::int64_t place = first - order.begin();
  for (int threads : {1, 2, 8}) {
    for (Where where : everywhere) {
      Loader loader = spoiled(where, {}).build({.runtime = Runtime({.threads = threads})});
      std::int64_t delivered = 0;
      try {
        for (Batch& batch : loader.epoch(0))
          delivered = batch.number() + 1;
        FAIL("no error");
      } catch (const DataError& error) {
        CHECK(error.stage() == (where == Where::step ? "check" : "read"));
        CHECK(error.origin().index == *first);
        CHECK(error.origin().position == place);
        CHECK(error.origin().batch == place / 8);
        CHECK(error.origin().row == place % 8);
        CHECK(error.origin().file == "row-" + std::to_string(*first));
        CHECK(std::string(error.what()).find("truncated") != std::string::npos);
      }
      CHECK(delivered == place / 8);
    }
  }
}

TEST_CASE(
    "rule replace: another record, the same on every thread count; all other rows as they were") {
  Watchdog watchdog("rule replace");
  const BadSamples rule{.rule = BadSamples::Rule::replace};
  const Runtime two({.threads = 2});
  const std::vector<Runtime> runtimes{Runtime({.threads = 1}), two, Runtime({.threads = 8})};
  const std::vector<std::int64_t> order = ordered();
  for (Where where : everywhere) {
    const std::vector<std::string> clean = clean_rows(where, two);
    const Seen expected = deliver(where == Where::gather ? where : Where::read, rule, two);
    REQUIRE(expected.rows.size() == 2 * all_records);
    int replaced = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (bad_records.count(order[k]) == 0) {
        CHECK((expected.rows[k] == clean[k]));
      } else {
        ++replaced;
        CHECK(bad_records.count(expected.indices[k]) == 0);
      }
    }
    CHECK(replaced == 2 * static_cast<int>(bad_records.size()));
    for (const Runtime& runtime : runtimes)
      for (bool fuse : {true, false})
        CHECK(same(deliver(where, rule, runtime, fuse).rows, expected.rows));
  }
}

TEST_CASE("rule shrink: the row is zero and not valid, all other rows as they were") {
  Watchdog watchdog("rule shrink");
  const std::vector<std::int64_t> order = ordered();
  for (int threads : {1, 2, 8}) {
    const Runtime runtime({.threads = threads});
    for (Where where : everywhere) {
      const std::vector<std::string> clean = clean_rows(where, runtime);
      const Seen rows = deliver(where, {.rule = BadSamples::Rule::shrink}, runtime);
      REQUIRE(rows.rows.size() == clean.size());
      for (std::size_t k = 0; k < order.size(); ++k) {
        const bool bad = bad_records.count(order[k]) != 0;
        CHECK(rows.valid[k] == !bad);
        CHECK((rows.rows[k] == (bad ? std::string(clean[k].size(), '\0') : clean[k])));
      }
    }
  }
}

TEST_CASE("half a record that was read before the failure never reaches the trainer") {
  Watchdog watchdog("stale memory");
  // Every second record fails after eight good bytes were written over a slab that was full of
  // other records.
  auto half_bad = [](std::int64_t index) {
    if (index % 2 == 1) throw DataError("the record is truncated");
  };
  for (bool gathers : {false, true}) {
    for (bool steps : {false, true}) {
      Pipeline source = Pipeline::from(table({.records = 64, .gathers = gathers}, half_bad))
                            .order(Shuffled{.seed = 3})
                            .on_bad_sample({.rule = BadSamples::Rule::shrink});
      if (steps) source = Pipeline(std::move(source)).then(Unpack{}).then(Unpack{});
      Loader loader = Pipeline(source)
                          .batch({.size = 8})
                          .build({.prefetch = 1, .runtime = Runtime({.threads = 2})});
      for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
        for (Batch& batch : loader.epoch(epoch)) {
          for (std::int64_t row = 0; row < batch.size(); ++row) {
            const auto value = batch["value"].row(row).values<std::uint8_t>();
            const std::int64_t index = batch["index"].row(row).item<std::int64_t>();
            const bool valid = batch["valid"].row(row).item<bool>();
            for (int k = 0; k < TableSource::width; ++k)
              CHECK(value[static_cast<std::size_t>(k)] ==
                    (valid ? TableSource::value_at(index, k) : 0));
          }
        }
      }
    }
  }
}

TEST_CASE("a budget of bad samples by count ends the run with an error that names it") {
  Watchdog watchdog("budget by count");
  const Runtime runtime({.threads = 2});
  for (auto rule : {BadSamples::Rule::replace, BadSamples::Rule::shrink}) {
    CHECK_THROWS_AS(deliver(Where::read, {.rule = rule, .most = 2}, runtime), PipelineError);
    try {
      deliver(Where::read, {.rule = rule, .most = 2}, runtime);
    } catch (const PipelineError& error) {
      CHECK(std::string(error.what()).find("2") != std::string::npos);
    }
    CHECK_NOTHROW(deliver(Where::read, {.rule = rule, .most = 100}, runtime));
  }
}

TEST_CASE("a budget of bad samples by share ends the run") {
  Watchdog watchdog("budget by share");
  const Runtime runtime({.threads = 2});
  CHECK_THROWS_AS(
      deliver(Where::read, {.rule = BadSamples::Rule::replace, .most_share = 0.02}, runtime),
      PipelineError);
  CHECK_NOTHROW(
      deliver(Where::read, {.rule = BadSamples::Rule::replace, .most_share = 0.2}, runtime));
}

TEST_CASE("when no replacement can be had the run ends instead of searching for ever") {
  Watchdog watchdog("no replacement");
  Loader loader =
      Pipeline::from(table({.records = 16}, [](std::int64_t) { throw DataError("all is lost"); }))
          .on_bad_sample({.rule = BadSamples::Rule::replace, .attempts = 4})
          .batch({.size = 4})
          .build({.runtime = Runtime({.threads = 2})});
  CHECK_THROWS_AS(loader.next(), Error);
}

TEST_CASE("a replacement that fails for lack of resources ends the run, and is no bad sample") {
  Watchdog watchdog("a replacement without resources");
  const auto asked = std::make_shared<std::atomic<int>>(0);
  Loader loader = Pipeline::from(table({.records = 1},
                                       [asked](std::int64_t) {
                                         if (++*asked == 1) throw DataError("torn");
                                         throw ResourceError("no descriptors left");
                                       }))
                      .on_bad_sample({.rule = BadSamples::Rule::replace, .attempts = 4})
                      .batch({.size = 1})
                      .build({.runtime = Runtime({.threads = 1})});
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("no descriptors left"), ResourceError);
}

TEST_CASE("every case is one line of JSON that names stage, file, record and cause") {
  Watchdog watchdog("bad_samples.jsonl");
  for (Where where : everywhere) {
    const std::filesystem::path path = scratch("-bad_samples.jsonl");
    {
      Loader loader = spoiled(where, {.rule = BadSamples::Rule::shrink, .log = path})
                          .build({.join_epochs = false, .runtime = Runtime({.threads = 8})});
      CHECK(stream_of(loader, 0, 1).batches.size() == 12);
      CHECK(loader.stats().bad_samples == std::ssize(bad_records));
    }
    std::set<std::int64_t> named;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      const nlohmann::json entry = nlohmann::json::parse(line);
      const auto index = entry.at("index").get<std::int64_t>();
      CHECK(named.insert(index).second);
      CHECK(entry.at("stage").get<std::string>() == (where == Where::step ? "check" : "read"));
      CHECK(entry.at("file").get<std::string>() == "row-" + std::to_string(index));
      CHECK(entry.at("cause").get<std::string>().find("truncated") != std::string::npos);
    }
    CHECK((named == bad_records));
    std::filesystem::remove(path);
  }
}

TEST_CASE("twin: a run whose bad records are others gives other bytes") {
  Watchdog watchdog("other bad records");
  const Runtime runtime({.threads = 2});
  const Seen replaced = deliver(Where::read, {.rule = BadSamples::Rule::replace}, runtime);
  CHECK_FALSE(same(replaced.rows, clean_rows(Where::read, runtime)));
}

TEST_CASE("the log stays JSON whatever bytes a cause has") {
  Watchdog watchdog("hostile causes");
  const std::filesystem::path path = scratch("-hostile.jsonl");
  const std::string hostile = "a \"quoted\"\nline \\ \x01 \x1b[31m \xff\xfe";
  {
    Loader loader =
        Pipeline::from(table({.records = 4}, [&](std::int64_t) { throw DataError(hostile); }))
            .on_bad_sample({.rule = BadSamples::Rule::shrink, .log = path})
            .batch({.size = 4})
            .build({.join_epochs = false, .runtime = Runtime({.threads = 2})});
    for (Batch& batch : loader.epoch(0))
      CHECK(batch.size() == 4);
  }
  std::ifstream in(path);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    CHECK(nlohmann::json::parse(line).at("cause").is_string());
  CHECK(lines == 4);
  std::filesystem::remove(path);
}
