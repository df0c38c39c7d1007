#include <headrace/apps/feed/loader_config.h>
#include <headrace/monitor/advice/verdict.h>
#include <headrace/tests/apps/advised_keys.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace app = headrace::app;
using headrace::monitor::LoaderLoad;
using headrace::monitor::StageRole;

namespace {

LoaderLoad load_with(double read_s, double decode_s) {
  return {
      .elapsed_s = 4.0,
      .threads = 4,
      .io_threads = 2,
      .stages = {{.name = "read", .role = StageRole::io, .busy_s = read_s, .items = 1000},
                 {.name = "decode", .role = StageRole::worker, .busy_s = decode_s, .items = 1000},
                 {.name = "transfer", .role = StageRole::transfer, .busy_s = 0.1, .items = 1000}},
      .delivered = 1000,
      .consumer_wait_s = 2.0,
      .ready_full_share = 0.0,
      .slabs = 6};
}

// What advice names for more threads, more reads at once and more batches ahead.
std::set<std::string> advised_keys() {
  std::set<std::string> named;
  for (const LoaderLoad& load : {load_with(1.0, 16.0), load_with(8.0, 1.0), load_with(1.0, 4.0)}) {
    const auto advice = headrace::monitor::judge(load, {.usable_cores = 16}).advice;
    REQUIRE(advice);
    named.insert(advice->setting);
  }
  return named;
}

}  // namespace

void headrace::test::check_advised_keys(const app::Fields& fields) {
  const std::vector<std::string> keys = fields.paths();
  const std::set<std::string> named = advised_keys();
  REQUIRE(named.size() == 3);
  for (const std::string& key : named)
    CHECK_MESSAGE(std::find(keys.begin(), keys.end(), key) != keys.end(), key);
}

TEST_CASE("every key that advice names is a key of a plain loader") {
  app::LoaderConfig config;
  app::Fields fields;
  describe(fields, config);
  headrace::test::check_advised_keys(fields);
}
