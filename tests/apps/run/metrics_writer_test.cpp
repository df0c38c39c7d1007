#include <headrace/apps/run/metrics_writer.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

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

TEST_CASE("a CSV is continued under the same columns") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.csv";
  CsvWriter(file).write({{"epoch", std::int64_t{1}}});
  CsvWriter(file).write({{"epoch", std::int64_t{2}}});
  CHECK(content_of(file) == "epoch\n1\n2\n");
}

TEST_CASE("a CSV goes on under a wider head when columns have come or gone since") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.csv";
  CsvWriter(file).write({{"epoch", std::int64_t{1}},
                         {"loss", 0.5},
                         {"note", std::string("a, \"b\"\nc")},
                         {"seconds", 2.5}});
  const std::string note = "\"a, \"\"b\"\"\nc\"";
  CsvWriter later(file);
  later.write(
      {{"epoch", std::int64_t{2}}, {"loss", 0.25}, {"f1", 0.75}, {"seconds", 1.5}, {"x", 1.0}});
  CHECK(content_of(file) ==
        "epoch,loss,f1,note,seconds,x\n1,0.5,," + note + ",2.5,\n2,0.25,0.75,,1.5,1\n");
  later.write({{"loss", 0.125}, {"epoch", std::int64_t{3}}});  // by name, not by place
  CHECK(content_of(file).ends_with("\n3,0.125,,,,\n"));
  later.write({{"epoch", std::int64_t{4}}, {"auc", 0.5}});  // in the midst of a run
  CHECK(content_of(file) == "epoch,auc,loss,f1,note,seconds,x\n1,,0.5,," + note +
                                ",2.5,\n2,,0.25,0.75,,1.5,1\n3,,0.125,,,,\n4,0.5,,,,,\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a row that a killed process has written is replaced by the same row of the next") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.csv";
  const auto row = [](std::int64_t epoch, double loss) {
    return MetricRow{{"fold", std::int64_t{0}}, {"epoch", epoch}, {"loss", loss}};
  };
  {
    CsvWriter csv(file);
    csv.write(row(0, .5), 2);
    csv.write(row(1, .25), 2);
  }
  {
    CsvWriter csv(file);
    csv.write(row(1, .25), 2);
    csv.write(row(2, .125), 2);
    csv.write(row(2, .125), 2);  // one process knows what it does
  }
  CsvWriter(file).write({{"fold", std::int64_t{1}}, {"epoch", std::int64_t{0}}, {"loss", 1.0}}, 2);
  CsvWriter(file).write(row(1, .75), 2);  // not behind the last one
  CHECK(content_of(file) ==
        "fold,epoch,loss\n0,0,0.5\n0,1,0.25\n0,2,0.125\n0,2,0.125\n1,0,1\n0,1,0.75\n");
  CsvWriter(file).write(row(0, .5), 2);  // gone on with from an earlier epoch
  CHECK(content_of(file) ==
        "fold,epoch,loss\n0,0,0.5\n0,1,0.25\n0,2,0.125\n0,2,0.125\n1,0,1\n0,0,0.5\n");
}

TEST_CASE("rows that a killed program or a person left uneven are kept readable") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.csv";
  const auto continued = [&](const std::string& before) {
    std::ofstream(file, std::ios::binary) << before;
    CsvWriter(file).write({{"epoch", std::int64_t{3}}, {"loss", 0.5}});
    return content_of(file);
  };
  CHECK(continued("epoch,loss\n1,0.25\n2,0.") == "epoch,loss\n1,0.25\n2,0.\n3,0.5\n");
  CHECK(continued("epoch,loss\r\n1,0.25\r\n") == "epoch,loss\n1,0.25\n3,0.5\n");
  CHECK(continued("epoch,loss\n1,0.25,7\n") == "epoch,loss,unnamed 3\n1,0.25,7\n3,0.5,\n");
  CHECK(continued("epoch,\"lo") == "epoch,loss,lo\n3,0.5,\n");
  CHECK(continued("\n\n") == "epoch,loss\n3,0.5\n");
  CHECK(continued("") == "epoch,loss\n3,0.5\n");
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

TEST_CASE("lines go on once a disk that was full has room again") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.jsonl";
  std::filesystem::create_symlink("/dev/full", file);
  JsonLinesWriter json(file);
  CHECK_THROWS_AS(json.write({{"epoch", std::int64_t{1}}}), headrace::ResourceError);
  std::filesystem::remove(file);
  json.write({{"epoch", std::int64_t{2}}});
  json.write({{"epoch", std::int64_t{3}}});
  CHECK(content_of(file) == "{\"epoch\":2}\n{\"epoch\":3}\n");
}

TEST_CASE(
    "rows go on in a line of their own behind one that a killed process left without an end") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "m.jsonl";
  std::ofstream(file) << "{\"step\":1}\n{\"step\":";
  JsonLinesWriter(file).write({{"step", std::int64_t{2}}});
  JsonLinesWriter(file).write({{"step", std::int64_t{3}}});
  CHECK(content_of(file) == "{\"step\":1}\n{\"step\":\n{\"step\":2}\n{\"step\":3}\n");
}
