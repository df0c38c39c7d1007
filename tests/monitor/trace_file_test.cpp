#include <headrace/engine/headrace.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/monitor/trace_file.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/tests/support/trace_check.h>

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::monitor::TraceDocument;
using headrace::monitor::write_trace;
using headrace::test::TraceCheck;
using nlohmann::json;

namespace {

json written(const TraceDocument& document) {
  std::string text;
  write_trace(document, [&text](std::string_view piece) { text += piece; });
  return json::parse(text);
}

std::string first_fault(const json& document) {
  const TraceCheck check(document);
  return check.faults().empty() ? std::string() : check.faults().front();
}

// Two threads, a batch that went the whole way and one that was dropped.
Trace small() {
  return {.loader = "train \"a\"\xff",
          .from_ns = 1'000'000,
          .to_ns = 2'000'000,
          .names = {{"read", "read"}, {"read+collate", "block"}},
          .threads = {"headrace-0", "headrace-1"},
          .spans = {{.thread = 0,
                     .name = 1,
                     .start_ns = 1'000'100,
                     .duration_ns = 500,
                     .batch = 0,
                     .row = 0,
                     .rows = 4},
                    {.thread = 0,
                     .name = 0,
                     .start_ns = 1'000'100,
                     .duration_ns = 123,
                     .batch = 0,
                     .row = 0,
                     .index = 17},
                    {.thread = 1,
                     .name = 1,
                     .start_ns = 1'000'050,
                     .duration_ns = 50,
                     .batch = 1,
                     .row = 0,
                     .rows = 4}},
          .batches = {{.sequence = 0,
                       .batch = 0,
                       .rows = 4,
                       .admitted_ns = 1'000'001,
                       .collated_ns = 1'000'600,
                       .ready_ns = 1'000'700,
                       .asked_ns = 1'000'650,
                       .delivered_ns = 1'000'800},
                      {.sequence = 1,
                       .batch = 1,
                       .rows = 4,
                       .admitted_ns = 1'000'002,
                       .dropped_ns = 1'000'900},
                      {.sequence = 2, .batch = 2, .rows = 4, .admitted_ns = 1'000'003}},
          .counts = {{.at_ns = 1'000'001, .free_slabs = 3}, {.at_ns = 1'000'700, .ready = 1}},
          .copies = {{.issued_ns = 1'000'610, .duration_ns = 300},
                     {.issued_ns = 1'000'620, .duration_ns = 10}},
          .lost = {0, 7},
          .lost_marks = 2};
}

TraceDocument document_of(Trace trace) {
  return {.process = "headrace test",
          .loaders = {std::move(trace)},
          .tracks = {{.name = "trainer",
                      .spans = {{.name = "step 1",
                                 .category = "step",
                                 .start_ns = 999'000,
                                 .duration_ns = 1'000'000,
                                 .step = 1},
                                {.name = "compute",
                                 .category = "compute",
                                 .start_ns = 999'500,
                                 .duration_ns = 100}}}},
          .other = {{"steps", "1 to 1"}}};
}

}  // namespace

TEST_CASE("a document has what Chrome's format asks for, and times from the earliest event") {
  const json document = written(document_of(small()));
  CHECK(first_fault(document) == "");
  CHECK(document["displayTimeUnit"] == "ms");
  CHECK(document["otherData"]["steps"] == "1 to 1");
  CHECK(document["otherData"].dump().find("spans lost\":\"7\"") != std::string::npos);
  const TraceCheck check(document);
  CHECK(check.names().at("step 1") == 1);
  CHECK(check.names().at("read") == 1);
  CHECK(check.names().at("read+collate") == 2);
  CHECK(check.names().at("wait") == 1);
  CHECK(check.names().at("copy") == 2);
  CHECK(check.phases().at("C") == 2);
  CHECK(check.phases().at("b") == 2);
  CHECK(check.phases().at("e") == 2);
  CHECK(check.phases().at("n") == 2);
  CHECK(check.phases().at("s") == 1);
  CHECK(check.phases().at("f") == 1);
  CHECK(check.lines().contains("trainer"));
  CHECK(check.lines().contains("headrace-1"));
  for (const json& event : document["traceEvents"]) {
    if (event["name"] == "step 1") CHECK(event["ts"].get<double>() == 0.0);
    if (event["name"] == "read") {
      CHECK(event["ts"].get<double>() == doctest::Approx(1.1));
      CHECK(event["dur"].get<double>() == doctest::Approx(0.123));
      CHECK(event["args"]["index"] == 17);
    }
  }
}

TEST_CASE("an empty document is a valid one") {
  CHECK(first_fault(written({.process = "nothing"})) == "");
}

TEST_CASE("loaders that share threads share their lines") {
  TraceDocument document = document_of(small());
  Trace other = small();
  other.loader = "validation";
  for (TraceSpan& span : other.spans)
    span.start_ns += 10'000;
  document.loaders.push_back(other);
  const json both = written(document);
  CHECK(first_fault(both) == "");
  int lines = 0;
  for (const json& event : both["traceEvents"])
    if (event["name"] == "thread_name" && event["args"]["name"] == "headrace-0") ++lines;
  CHECK(lines == 1);
}

TEST_CASE("the checker finds what is wrong") {
  const json good = written(document_of(small()));
  const auto spoilt = [&good](auto spoil) {
    json document = good;
    for (json& event : document["traceEvents"])
      spoil(event);
    return first_fault(document);
  };
  CHECK(first_fault(json::object()) != "");
  CHECK(spoilt([](json& e) { e.erase("ph"); }) != "");
  CHECK(spoilt([](json& e) {
          if (e["ph"] == "X") e.erase("dur");
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["ph"] == "X") e["ts"] = -1;
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["name"] == "read") e["dur"] = 900;
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["name"] == "step 1") e["ts"] = 1e6;
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["ph"] == "e") e["id"] = "another";
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["ph"] == "f") e["ts"] = 5e6;
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["ph"] == "C") e["args"] = json::object();
        }) != "");
  CHECK(spoilt([](json& e) {
          if (e["name"] == "thread_name") e["tid"] = 12345;
        }) != "");
}

TEST_CASE("a loader's own trace becomes a good file, which nothing half-written ever is") {
  const Runtime runtime({.threads = 2});
  Loader loader = test::work_on(test::table({.records = 50}), true)
                      .batch({.size = 4})
                      .build({.runtime = runtime});
  Tracing tracing(runtime);
  for (Batch& batch : loader.epoch(0))
    CHECK(batch.size() <= 4);
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "trace.json";
  monitor::write_trace_file(file, {.process = "test", .loaders = tracing.stop()});
  const json document = json::parse(test::content_of(file));
  CHECK(first_fault(document) == "");
  CHECK(TraceCheck(document).phases().at("f") > 0);
  CHECK_THROWS_AS(monitor::write_trace_file(folder.path() / "none" / "trace.json", {}),
                  ResourceError);
}
