#include <headrace/monitor/system/system_json.h>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace::monitor;
using nlohmann::json;

namespace {

SystemSample everything() {
  SystemSample sample{.at_s = 12.3456,
                      .unix_ms = 1'795'824'147'250,
                      .interval_s = 1.0,
                      .cores = 8,
                      .machine_share = 0.51236,
                      .iowait_share = 0.02,
                      .steal_share = 0.01};
  sample.tree = {.lives = true,
                 .processes = 3,
                 .threads = 12,
                 .cpu_s = 44.21,
                 .cores = 2.5,
                 .resident = 5'000'000'000,
                 .open_files = 31,
                 .reads_told = true,
                 .read_per_s = 1e6,
                 .read_from_disk_per_s = 4096.4,
                 .major_faults_per_s = 1.5};
  sample.memory.anonymous = 1000;
  sample.memory.shared = 24;
  sample.host = {.total = 64ULL << 30,
                 .available = 32ULL << 30,
                 .cgroup_limit = 8ULL << 30,
                 .cgroup_usage = 2ULL << 30};
  sample.pressure = Pressure{.cpu_some = 0.1, .memory_some = 0.2, .io_some = 0.3};
  sample.disks = {
      {.name = "sda", .read_per_s = 7, .written_per_s = 8, .requests_per_s = 2, .busy_share = 0.5},
      {.name = "sdb"}};
  sample.networks = {{.name = "eth0", .received_per_s = 10, .sent_per_s = 11}, {.name = "eth1"}};
  GpuSample gpu{
      .index = 1, .name = "Card", .busy_share = 0.85, .memory_used = 12, .memory_total = 24};
  gpu.temperature_c = 61;
  gpu.power_w = 250.5;
  gpu.pcie_sent_per_s = 5e6;
  gpu.throttled = {"power limit"};
  gpu.processes = {{.pid = 7, .name = "python", .memory = 9, .ours = true}, {.pid = 8}};
  sample.gpus = {gpu};
  sample.busiest = {{.pid = 7, .name = "python", .cores = 2.5, .ours = true}};
  sample.allocator =
      AllocatorCounters{.allocated = 1, .reserved = 2, .inactive_split = 3, .retries = 4};
  return sample;
}

}  // namespace

TEST_CASE("a sample's line is one JSON object with the keys that are documented") {
  const std::string line = system_line(everything(), {.phase = "train", .epoch = 3});
  CHECK(line.find('\n') == std::string::npos);
  const json object = json::parse(line);
  CHECK(object["at_s"] == 12.346);
  CHECK(object["time"] == "2026-11-28T00:02:27.250Z");
  CHECK(object["phase"] == "train");
  CHECK(object["epoch"] == 3);
  CHECK(object["machine_share"] == 0.5124);
  CHECK(object["process_cores"] == 2.5);
  CHECK(object["process_share"] == 0.3125);
  CHECK(object["process_cpu_s"] == 44.21);
  CHECK(object["memory_held_bytes"] == 1024);
  CHECK(object["memory_resident_bytes"] == 5'000'000'000);
  CHECK(object["cgroup_limit_bytes"] == 8ULL << 30);
  CHECK(object["pressure_io_share"] == 0.3);
  CHECK(object["disk_read_bytes_per_s"] == 4096);
  CHECK(object["disks"].size() == 1);  // the other did nothing
  CHECK(object["networks"].size() == 1);
  CHECK(object["gpus"][0]["power_w"] == 250.5);
  CHECK(object["gpus"][0]["processes"][0]["memory_bytes"] == 9);
  CHECK(object["busiest"][0]["ours"] == true);
  CHECK(object["allocator"]["retries"] == 4);
}

TEST_CASE("what is not known has no key") {
  const json object = json::parse(system_line(SystemSample{}));
  for (const char* key :
       {"phase", "epoch", "process_share", "processes", "open_files", "read_bytes_per_s",
        "memory_held_bytes", "memory_total_bytes", "cgroup_limit_bytes", "pressure_io_share",
        "disks", "networks", "gpus", "no_gpu", "busiest", "allocator", "time"})
    CHECK_MESSAGE(!object.contains(key), key);
  SystemSample sample;
  sample.gpus = {{.name = "Card"}};
  sample.gpus[0].processes = {{.pid = 8}};
  const json gpu = json::parse(system_line(sample))["gpus"][0];
  CHECK(gpu.size() == 3);
  CHECK_FALSE(gpu["processes"][0].contains("memory_bytes"));
}

TEST_CASE("a line comes back as it was written") {
  const RunMoment moment{.phase = "train", .epoch = 3};
  const std::string line = system_line(everything(), moment);
  const auto sample = read_system_line(line);
  REQUIRE(sample);
  CHECK(system_line(*sample, moment) == line);
  CHECK(sample->unix_ms == everything().unix_ms);
  CHECK(sample->memory.held() == 1024);
  SystemSample without;
  without.no_gpu = "no driver";
  const auto none = read_system_line(system_line(without));
  REQUIRE(none);
  CHECK(none->no_gpu == "no driver");
  CHECK_FALSE(none->pressure);
  CHECK_FALSE(none->allocator);
}

TEST_CASE(
    "a line that was cut off or is another's is none, and a value of another kind is left out") {
  CHECK_FALSE(read_system_line(""));
  CHECK_FALSE(read_system_line(R"({"at_s": 1.0, "machine_sh)"));
  CHECK_FALSE(read_system_line(R"({"step": 1})"));
  CHECK_FALSE(read_system_line("[1, 2]"));
  const auto sample = read_system_line(
      R"({"at_s": 1, "machine_share": 0.5, "cores": "many", "gpus": [3, {"name": 4}], "disks": 7, "busiest": [{"pid": "x"}]})");
  REQUIRE(sample);
  CHECK(sample->machine_share == 0.5);
  CHECK(sample->cores == 1);
  CHECK(sample->gpus.size() == 1);
  CHECK(sample->disks.empty());
}

TEST_CASE("a number that has no room is left out") {
  const auto sample = read_system_line(
      R"({"at_s": 1, "machine_share": 0.5, "cores": 1e99, "threads": -3, "open_files": 1e300, "memory_total_bytes": -1})");
  REQUIRE(sample);
  CHECK(sample->cores == 1);
  CHECK(sample->tree.threads == 0);
  CHECK(sample->tree.open_files == 0);
  CHECK(sample->host.total == 0);
}

TEST_CASE("a share of the cores is at most all, and memory that was not read has no key") {
  SystemSample sample{.interval_s = 0.05, .cores = 2};
  sample.tree = {.lives = true, .processes = 1, .cores = 2.2};
  const json object = json::parse(system_line(sample));
  CHECK(object["process_cores"] == 2.2);  // ticks of 10 ms over a short time
  CHECK(object["process_share"] == 1.0);
  CHECK_FALSE(object.contains("memory_held_bytes"));
}
