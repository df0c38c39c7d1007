#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/report/system_history.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/tests/apps/report/written_run.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace headrace::app;
using doctest::Approx;
using headrace::monitor::CpuSpike;
using headrace::test::append_text;
using headrace::test::TemporaryFolder;
using headrace::test::write_text;

namespace {

// A sample at so many seconds behind 10:00:00.
std::string sample(int second, double machine, const std::string& more = {}) {
  return fmt::format(
      "{{\"at_s\":{},\"time\":\"2026-11-27T{:02}:{:02}:{:02}Z\",\"interval_s\":1,\"cores\":4,"
      "\"machine_share\":{}{}}}\n",
      second, 10 + second / 3600, second / 60 % 60, second % 60, machine,
      more.empty() ? "" : "," + more);
}

MachineHistory history_of(const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder / "system.jsonl", text);
  return read_system(folder / "system.jsonl");
}

}  // namespace

TEST_CASE("samples of the machine become curves by their names") {
  const MachineHistory system =
      history_of(sample(0, 0.5, "\"memory_total_bytes\":100,\"memory_available_bytes\":40") +
                 sample(1, 0.25,
                        "\"disks\":[{\"name\":\"a\",\"read_bytes_per_s\":5,\"busy_share\":0.1},"
                        "{\"name\":\"b\",\"read_bytes_per_s\":7,\"busy_share\":0.9}]"));
  CHECK(system.count.lines == 2);
  CHECK(system.last - system.first == 1.0);
  CHECK(system.cores == 4.0);
  REQUIRE(system.curve("machine_share") != nullptr);
  CHECK(system.curve("machine_share")->high() == 0.5);
  CHECK(system.curve("memory_taken_bytes")->high() == 60.0);
  CHECK(system.curve("disks.read_bytes_per_s")->high() == 12.0);
  CHECK(system.curve("disks.busy_share")->high() == 0.9);
  CHECK(system.curve("process_share") == nullptr);  // absent is unknown, never 0
}

TEST_CASE("a disk that a sample does not name did nothing in it, and a gap stays one") {
  const std::string disk =
      "\"disks\":[{\"name\":\"a\",\"read_bytes_per_s\":8,\"busy_share\":0.5}],"
      "\"networks\":[{\"name\":\"e\",\"sent_bytes_per_s\":4}]";
  const MachineHistory system =
      history_of(sample(0, 0.5) + sample(1, 0.5, disk) + sample(2, 0.5) +
                 sample(3, 0.5, "\"disks\":[]") + sample(200, 0.5, disk) + sample(201, 0.5));
  for (const char* name :
       {"disks.read_bytes_per_s", "disks.busy_share", "networks.sent_bytes_per_s"}) {
    CAPTURE(std::string(name));
    REQUIRE(system.curve(name) != nullptr);
    const auto points = system.curve(name)->points();
    REQUIRE(points.size() == 7);
    const double busy = system.curve(name)->high();
    const std::array<double, 4> before{0.0, busy, 0.0, 0.0};
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK(points[i].y == before[i]);
    CHECK(std::isnan(points[4].y));
    CHECK(points[6].y == 0.0);
  }
  CHECK(system.curve("disks.written_bytes_per_s") == nullptr);
}

TEST_CASE("what is no sample or holds what nobody expects is left out") {
  const MachineHistory system =
      history_of(sample(0, 0.5) + "[]\n{\"at_s\":\"soon\"}\n{\"torn\":\n" +
                 "{\"at_s\":1,\"machine_share\":\"high\",\"disks\":7,\"gpus\":[3,null,{}],"
                 "\"busiest\":[1],\"allocator\":[],\"phase\":5}\n" +
                 sample(2, 0.25) + "{\"at_s\":3,\"time\":\"2026-11-2");
  CHECK(system.count.broken == 3);
  CHECK(system.curve("machine_share")->points().size() == 2);
}

TEST_CASE("a run that went on begins its clock anew, and time goes on") {
  std::string text = sample(0, 0.5) + sample(1, 0.5);
  text +=
      "{\"at_s\":0,\"time\":\"2026-11-27T12:00:00Z\",\"machine_share\":0.5}\n"
      "{\"at_s\":0.5,\"time\":\"2026-11-27T12:00:00Z\",\"machine_share\":0.5}\n";
  const MachineHistory system = history_of(text);
  REQUIRE(system.pauses.size() == 1);
  CHECK(system.pauses[0].at == system.first + 1.0);
  CHECK(system.pauses[0].seconds == 7199.0);
  CHECK(system.last - system.first == 1.0 + SampleClock::shown_pause_s + 0.5);
}

TEST_CASE("of a run that went on days later both parts can be read, and spikes tell their time") {
  std::string text;
  for (const int day : {27, 30})
    for (int i = 0; i < 60; ++i)
      text += fmt::format(
          "{{\"at_s\":{},\"time\":\"2026-11-{}T10:00:{:02}Z\",\"interval_s\":1,\"machine_share\":{}"
          "}}\n",
          i, day, i, i >= 10 && i < 20 ? 0.95 : 0.1);
  const MachineHistory system = history_of(text);
  CHECK(system.last - system.first == 59.0 + SampleClock::shown_pause_s + 59.0);
  const auto points = system.curve("machine_share")->points();
  REQUIRE(points.size() == 121);
  CHECK(std::isnan(points[60].y));
  const std::vector<CpuSpike> spikes = system.spikes.spikes();
  REQUIRE(spikes.size() == 2);
  CHECK(spikes[1].start_s - system.first == 59.0 + SampleClock::shown_pause_s + 9.0);
  CHECK(shown_utc(static_cast<double>(spikes[1].unix_ms) / 1e3) == "2026-11-30 10:00:09");
  const std::string html = report_system(system);
  CHECK(html.find("in 1 pause, 71 h 59 min long: charts show 2 min 0 s of each") != html.npos);
}

TEST_CASE("a clock that is set back while a run samples, or before it goes on, moves no sample") {
  std::string text = sample(7200, 0.5) + sample(7201, 0.5);
  for (int i = 2; i < 100; ++i)  // an hour back
    text += fmt::format(
        "{{\"at_s\":{},\"time\":\"2026-11-27T11:{:02}:{:02}Z\",\"machine_share\":{}}}\n", 7200 + i,
        i / 60, i % 60, 0.5 + 0.001 * i);
  MachineHistory system = history_of(text);
  CHECK(system.last - system.first == 99.0);
  CHECK(system.curve("machine_share")->points().size() == 100);
  for (int i = 0; i < 50; ++i)
    text += fmt::format(
        "{{\"at_s\":{},\"time\":\"2026-11-27T10:00:{:02}Z\",\"machine_share\":0.2}}\n", i, i);
  system = history_of(text);
  CHECK(system.last - system.first == 148.0);
}

TEST_CASE("spikes are found in the file's own time, with who was busy") {
  const std::string busy =
      "\"busiest\":[{\"pid\":1,\"name\":\"cc1plus\",\"cores\":1.5,\"ours\":false},"
      "{\"pid\":2,\"name\":\"headrace\",\"cores\":2.5,\"ours\":true}]";
  const MachineHistory system =
      history_of(sample(0, 0.6) + sample(1, 0.71) + sample(2, 0.95, busy) + sample(3, 0.85) +
                 sample(4, 0.2) + sample(5, 0.2, busy) + sample(6, 0.8) + sample(7, 0.1));
  const std::vector<CpuSpike> spikes = system.spikes.spikes();
  REQUIRE(spikes.size() == 1);
  CHECK(spikes[0].start_s == system.first);
  CHECK(spikes[0].length_s == 3.0);
  CHECK(spikes[0].peak == 0.95);
  CHECK(spikes[0].level == 0.8);
  REQUIRE(spikes[0].busiest.size() == 2);
  CHECK(spikes[0].busiest[0].name == "headrace");
  CHECK(spikes[0].busiest[0].ours);
  CHECK(system.busy_s == std::array{4.0, 3.0, 1.0});
  CHECK(system.seconds == 8.0);
}

TEST_CASE("a spike at the end and one across a gap are told apart") {
  const MachineHistory system =
      history_of(sample(0, 0.9) + sample(1, 0.9) + sample(100, 0.9) + sample(101, 0.9));
  const std::vector<CpuSpike> spikes = system.spikes.spikes();
  REQUIRE(spikes.size() == 2);
  CHECK(spikes[0].length_s == 2.0);
  CHECK(spikes[1].start_s == system.first + 99.0);
  CHECK(spikes[1].length_s == 2.0);
}

TEST_CASE("a busiest list without an end and hostile numbers in it are no harm") {
  std::string busiest;
  for (int i = 0; i < 5000; ++i)
    busiest += fmt::format("{}{{\"pid\":{},\"name\":[],\"cores\":1e300}}", i == 0 ? "" : ",",
                           i % 2 == 0 ? "-1e99" : std::to_string(i));
  const std::string more = "\"busiest\":[" + busiest + "]";
  const MachineHistory system = history_of(sample(0, 1e300, more) + sample(1, 7.0, more));
  REQUIRE(system.spikes.spikes().size() == 1);
  CHECK(system.spikes.spikes()[0].peak == 1.0);
  CHECK(system.spikes.spikes()[0].busiest.size() == 5);
}

TEST_CASE("phases are joined, and a strip says when the clocks were held down") {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += sample(i, 0.5,
                   fmt::format("\"phase\":\"{}\",\"gpus\":[{{\"index\":1,\"busy_share\":0.9}},{{"
                               "\"index\":0,\"name\":\"X\",\"throttled\":[{}],"
                               "\"busy_share\":0.5,\"processes\":[{{\"pid\":9,\"name\":\"other\","
                               "\"memory_bytes\":{},\"ours\":false}}]}}]",
                               i < 200   ? "train"
                               : i < 280 ? "evaluate"
                                         : "sleep",
                               i >= 100 && i < 120 ? "\"power cap\"" : "", i));
  const MachineHistory system = history_of(text);
  REQUIRE(system.phases.size() == 3);
  CHECK(system.phases[0].title == "train");
  CHECK(system.phases[1].from - system.first == Approx(200.0));
  CHECK(system.phases[1].title == "evaluate");
  CHECK(system.phases[2].title == "other");
  const std::vector<ChartSpan>& throttled = system.gpus.at(0).throttled;
  REQUIRE(throttled.size() == 1);
  CHECK(throttled[0].from - system.first == Approx(100.0));
  CHECK(system.gpus.at(1).throttled.empty());
  CHECK(system.gpus.at(0).throttled_s.at("power cap") == 20.0);
  CHECK(system.gpus.at(0).others_bytes.at("other") == 299.0);
}

TEST_CASE("of thirteen days at a sample a second as much stays as a chart shows") {
  const TemporaryFolder folder;
  const auto file = folder / "system.jsonl";
  write_text(file, "");
  std::string text;
  constexpr int seconds = 13 * 24 * 3600;
  for (int i = 0; i < seconds; i += 20) {  // at a twentieth of the size: the axis is what counts
    text += fmt::format("{{\"at_s\":{},\"interval_s\":20,\"machine_share\":{},\"phase\":\"{}\"}}\n",
                        i, i == 600'000 ? 0.99 : 0.5, i % 3600 < 3000 ? "train" : "evaluate");
    if (text.size() < (1U << 20U)) continue;
    append_text(file, text);
    text.clear();
  }
  append_text(file, text);
  const MachineHistory system = read_system(file);
  CHECK(system.count.lines == seconds / 20);
  CHECK(system.curve("machine_share")->points().size() <= 2 * MachineHistory::columns);
  CHECK(system.curve("machine_share")->high() == 0.99);
  CHECK(system.phases.size() <= MachineHistory::columns);
}
