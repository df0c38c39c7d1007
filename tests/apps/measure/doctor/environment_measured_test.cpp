#include <headrace/apps/measure/doctor/mounts.h>
#include <headrace/apps/measure/doctor/read_speed.h>
#include <headrace/engine/base/literals.h>

#include "healthy_machine.h"

#include <fstream>

#include <doctest/doctest.h>

using namespace headrace::app;
using namespace headrace::literals;
using headrace::monitor::Severity;
using headrace::test::HealthyMachine;
using headrace::test::TemporaryFolder;

namespace {

// The path is not there, so that the nearest folder is "/": the made mounts decide.
void put_on(const HealthyMachine& machine, const std::string& type) {
  machine.write("proc/self/mountinfo", "20 1 8:1 / / rw - " + type + " source rw\n");
}

void write_file(const std::filesystem::path& file, std::size_t bytes) {
  std::ofstream(file, std::ios::binary) << std::string(bytes, 'x');
}

}  // namespace

TEST_CASE("the kind of storage is known by its type") {
  CHECK(storage_kind("ext4") == StorageKind::local);
  CHECK(storage_kind("nfs4") == StorageKind::network);
  CHECK(storage_kind("cifs") == StorageKind::network);
  CHECK(storage_kind("fuse.sshfs") == StorageKind::fuse);
  CHECK(storage_kind("tmpfs") == StorageKind::memory);
  CHECK(storage_kind("overlay") == StorageKind::overlay);
  CHECK(storage_kind("9p") == StorageKind::other);
}

TEST_CASE("data on a share or in memory are a notice with its way out") {
  HealthyMachine machine;
  machine.options.data = "/no-such-folder-of-data";
  machine.facts().read_speed = ReadSpeed{.sequential_per_s = 500_MiB, .random_per_s = 50_MiB};
  constexpr const char* what = "storage of the data";
  CHECK(machine.finding(what).found == "ext4 on /");
  CHECK(machine.finding(what).severity == Severity::info);
  for (const char* type : {"nfs4", "cifs", "fuse.sshfs"}) {
    put_on(machine, type);
    CHECK(machine.finding(what).severity == Severity::notice);
    machine.options.needs.can_stage = true;
    CHECK(machine.finding(what).way_out.starts_with("set data.stage"));
    machine.options.needs.can_stage = false;
    CHECK(machine.finding(what).way_out.starts_with("copy the data to a local disk"));
  }
  put_on(machine, "tmpfs");
  machine.facts().data_space = FolderSpace{4_GiB, 3_GiB};
  CHECK(machine.finding(what).found == "tmpfs on /, 1.00 GiB in use");
  CHECK(machine.finding(what).severity == Severity::notice);
  put_on(machine, "oddfs");
  CHECK_FALSE(machine.finding(what).known);
  machine.remove("proc/self/mountinfo");
  CHECK_FALSE(machine.finding(what).known);
}

TEST_CASE("slow data are a warning, measured from the page cache they are unknown") {
  HealthyMachine machine;
  machine.options.data = "/no-such-folder-of-data";
  constexpr const char* what = "read speed of the data";
  CHECK_FALSE(machine.finding(what).known);
  machine.facts().read_speed = ReadSpeed{.sequential_per_s = 80_MiB, .random_per_s = 20_MiB};
  CHECK(machine.finding(what).severity == Severity::info);
  machine.facts().read_speed->random_per_s = 19_MiB;
  CHECK(machine.finding(what).severity == Severity::warning);
  machine.facts().read_speed->cached_share = 0.5;
  const Finding cached = machine.finding(what);
  CHECK_FALSE(cached.known);
  CHECK(cached.found.find("pages stay in memory") != std::string::npos);
}

TEST_CASE("what the device could use up is the least speed of the data, where it is known") {
  HealthyMachine machine;
  machine.options.data = "/no-such-folder-of-data";
  machine.options.needs.read_per_s = 300_MiB;
  machine.facts().read_speed = ReadSpeed{.sequential_per_s = 300_MiB, .random_per_s = 1_MiB};
  CHECK(machine.finding("read speed of the data").severity == Severity::info);
  machine.facts().read_speed->sequential_per_s = 299_MiB;
  const Finding slow = machine.finding("read speed of the data");
  CHECK(slow.severity == Severity::warning);
  CHECK(slow.wanted == "at least 300 MiB/s for the step");
}

TEST_CASE("runs that would not last are a warning") {
  HealthyMachine machine;
  machine.options.runs = "/no-such-folder-of-runs";
  constexpr const char* what = "storage of the runs";
  CHECK(machine.finding(what).severity == Severity::info);
  for (const char* type : {"tmpfs", "overlay"}) {
    put_on(machine, type);
    CHECK(machine.finding(what).severity == Severity::warning);
  }
  put_on(machine, "nfs");
  CHECK(machine.finding(what).severity == Severity::info);
  machine.remove("proc/self/mountinfo");
  CHECK_FALSE(machine.finding(what).known);
}

TEST_CASE("too little space for runs is a warning, or an error where their size is known") {
  HealthyMachine machine;
  machine.options.runs = "/no-such-folder-of-runs";
  constexpr const char* what = "space for runs";
  CHECK_FALSE(machine.finding(what).known);
  machine.facts().run_space = FolderSpace{100_GiB, 2_GiB};
  CHECK(machine.finding(what).severity == Severity::info);
  machine.facts().run_space->free = 2_GiB - 1;
  CHECK(machine.finding(what).severity == Severity::warning);
  machine.options.needs.run_bytes = 2_GiB;
  CHECK(machine.finding(what).severity == Severity::error);
}

TEST_CASE("a slow fsync of the runs is a warning") {
  HealthyMachine machine;
  machine.options.runs = "/no-such-folder-of-runs";
  CHECK_FALSE(machine.finding("fsync of the runs").known);
  machine.facts().fsync_s = 0.1;
  CHECK(machine.finding("fsync of the runs").severity == Severity::info);
  machine.facts().fsync_s = 0.2;
  CHECK(machine.finding("fsync of the runs").severity == Severity::warning);
}

TEST_CASE("the read speed is measured over the files of a folder, within its bounds") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  write_file(folder.path() / "a" / "one", 3 << 20);
  write_file(folder.path() / "two", 5 << 20);
  write_file(folder.path() / "empty", 0);
  const auto speed = measure_read_speed(folder.path(), {.seconds = 60.0, .bytes = 4 << 20});
  REQUIRE(speed);
  CHECK(speed->bytes >= 4 << 20);
  CHECK(speed->bytes <= 13 << 20);
  CHECK(speed->sequential_per_s > 0.0);
  CHECK(speed->random_per_s > 0.0);
  CHECK(speed->cached_share >= 0.0);
  CHECK(speed->cached_share <= 1.0);
  CHECK(measure_read_speed(folder.path() / "two", {.seconds = 60.0, .bytes = 1 << 20}));
}

TEST_CASE("a measurement on what is not there, or empty, gives nothing") {
  const TemporaryFolder folder;
  CHECK_FALSE(measure_read_speed(folder.path()));
  CHECK_FALSE(measure_read_speed(folder.path() / "nowhere"));
  CHECK_FALSE(measure_fsync(folder.path() / "nowhere"));
}

TEST_CASE("measuring fsync leaves no file behind") {
  const TemporaryFolder folder;
  REQUIRE(measure_fsync(folder.path()));
  CHECK(std::filesystem::is_empty(folder.path()));
}
