#include <headrace/engine/base/error.h>
#include <headrace/monitor/verdict.h>
#include <headrace/tests/apps/moved_keys.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using monitor::LoaderLoad;
using monitor::StageRole;

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

}  // namespace

std::string said(const std::vector<app::MovedKey>& keys, const std::string& text,
                 const std::string& setting) {
  app::Fields fields;
  std::string kind;
  fields.key("kind", kind);
  fields.moved(keys);
  app::Node document = app::parse_document(text, "job.yaml");
  if (!setting.empty()) app::apply_override(document, setting);
  try {
    fields.read(document);
  } catch (const headrace::ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

void check_moved(const std::vector<app::MovedKey>& keys, const std::vector<OldKey>& all) {
  for (const OldKey& old : all) {
    CAPTURE(old.text);
    const std::string text = said(keys, old.text);
    const std::string several =
        text.find('\n') == std::string::npos ? "" : "these keys have moved:\n  ";
    CHECK(text == "[config] " + several + "job.yaml:" + old.sentence);
  }
}

std::string bench_refusal(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml") << text;
  const Finished finished = run_headrace(folder.path(), {"bench", "loader", "job.yaml"});
  CHECK(finished.status == 2);
  return finished.err;
}

void check_advised_keys(const std::vector<std::string>& keys) {
  std::set<std::string> named;
  // More threads, more reads at once, more batches ahead.
  for (const LoaderLoad& load : {load_with(1.0, 16.0), load_with(8.0, 1.0), load_with(1.0, 4.0)}) {
    const auto advice = monitor::judge(load, {.usable_cores = 16}).advice;
    REQUIRE(advice);
    named.insert(advice->setting);
  }
  REQUIRE(named.size() == 3);
  for (const std::string& key : named)
    CHECK_MESSAGE(std::find(keys.begin(), keys.end(), key) != keys.end(), key);
}

}  // namespace headrace::test
