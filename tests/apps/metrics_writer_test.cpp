#include <doctest/doctest.h>

#include <headrace/apps/run/metrics_writer.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>

using namespace headrace::app;
using headrace::test::content_of;
using headrace::test::TemporaryFolder;

TEST_CASE("a CSV has one header, and values that need it are quoted") {
  const TemporaryFolder folder;
  CsvWriter csv(folder.path() / "m.csv");
  csv.write({{"epoch", std::int64_t{1}}, {"loss", 0.25}, {"note", std::string("a, \"b\"")}});
  csv.write({{"epoch", std::int64_t{2}}, {"loss", 0.125}, {"note", std::string("")}});
  CHECK(content_of(folder.path() / "m.csv") ==
        "epoch,loss,note\n1,0.25,\"a, \"\"b\"\"\"\n2,0.125,\n");
}

TEST_CASE("a CSV is continued under the same columns and refused under others") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.csv";
  CsvWriter(file).write({{"epoch", std::int64_t{1}}});
  CsvWriter(file).write({{"epoch", std::int64_t{2}}});
  CHECK(content_of(file) == "epoch\n1\n2\n");
  CsvWriter other(file);
  CHECK_THROWS_AS(other.write({{"loss", 1.0}}), headrace::ConfigError);
  CsvWriter mixed(file);
  mixed.write({{"epoch", std::int64_t{3}}});
  CHECK_THROWS_AS(mixed.write({{"epoch", std::int64_t{3}}, {"loss", 1.0}}), headrace::ConfigError);
}

TEST_CASE("each JSON line is an object, on the disk at once, with null for what is no number") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.jsonl";
  JsonLinesWriter lines(file);
  lines.write({{"step", std::int64_t{1}}, {"loss", std::numeric_limits<double>::quiet_NaN()}});
  CHECK(content_of(file) == "{\"step\":1,\"loss\":null}\n");
  lines.write_json("{\"a\":1}");
  CHECK(content_of(file).ends_with("{\"a\":1}\n"));
}

TEST_CASE("a file that cannot be written is a matter of resources") {
  JsonLinesWriter lines("/nowhere/at/all/m.jsonl");
  CHECK_THROWS_AS(lines.write({{"a", 1.0}}), headrace::ResourceError);
  JsonLinesWriter full("/dev/full");
  CHECK_THROWS_AS(full.write({{"a", 1.0}}), headrace::ResourceError);
}
