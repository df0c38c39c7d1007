#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

// A bench of the table of configs/loader/table.yaml, with more words.
nlohmann::json measured(const Words& more, const TemporaryFolder& folder) {
  Words words{"bench", "loader", HEADRACE_SOURCE_DIR "/configs/loader/table.yaml", "--json",
              "bench.json"};
  words.insert(words.end(), more.begin(), more.end());
  const Finished finished = run_headrace(folder.path(), words);
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return nlohmann::json::parse(content_of(folder.path() / "bench.json"));
}

}  // namespace

TEST_CASE("a delay planted into a stage is found by the verdict, in each stage in turn") {
  const TemporaryFolder folder;
  struct Planted {
    const char* setting;
    const char* stage;
  };
  for (const Planted& planted :
       {Planted{"delay.read=200us", "read"}, Planted{"delay.decode=200us", "decode"},
        Planted{"delay.augment=200us", "augment"}, Planted{"delay.transfer=40ms", "transfer"},
        Planted{"delay.consumer=20ms", "consumer"}}) {
    CAPTURE(planted.setting);
    const auto verdict =
        measured({"--set", "data.rows=40000", "--set", "data.row_bytes=64", "--set", "batch=512",
                  "--set", planted.setting, "--step", "5ms", "--batches", "60"},
                 folder)
            .at("verdict");
    CHECK(verdict.at("stage") == planted.stage);
  }
}

TEST_CASE("a table at 410,000 rows/s makes the consumer wait under one per cent") {
  const TemporaryFolder folder;
  double least = 1.0;
  for (int attempt = 0; attempt < 5 && least >= 0.01; ++attempt) {  // others use this machine too
    const auto json = measured({"--set", "data.rows=400000", "--step", "20ms"}, folder);
    least = std::min(least, json.at("consumer_wait_share").get<double>());
  }
  CHECK(least < 0.01);
}
