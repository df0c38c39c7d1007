#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/leak/config.h>
#include <headrace/monitor/verdict.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
using headrace::monitor::LoaderLoad;
using headrace::monitor::StageRole;

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

template <class Config>
std::vector<std::string> keys_of() {
  Config config;
  app::Fields fields;
  describe(fields, config);
  return fields.paths();
}

}  // namespace

TEST_CASE("every key that advice names is a key of every kind of configuration") {
  std::set<std::string> named;
  // More threads, more reads at once, more batches ahead.
  for (const LoaderLoad& load : {load_with(1.0, 16.0), load_with(8.0, 1.0), load_with(1.0, 4.0)}) {
    const auto advice = headrace::monitor::judge(load, {.usable_cores = 16}).advice;
    REQUIRE(advice);
    named.insert(advice->setting);
  }
  REQUIRE(named.size() == 3);
  for (const auto& keys :
       {keys_of<app::GlaucomaConfig>(), keys_of<app::LeakConfig>(), keys_of<app::LoaderConfig>()}) {
    for (const std::string& key : named)
      CHECK_MESSAGE(std::find(keys.begin(), keys.end(), key) != keys.end(), key);
  }
}
