// A disk that is slow: the kernel holds back what a group of processes reads from it. Part of the
// long tier, for root alone.
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/tests/apps/doctor/planted_job.h>
#include <headrace/tests/support/skip.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

std::string disk_of(const fs::path& folder) {
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) return {};
  return std::to_string(major(found.st_dev)) + ":" + std::to_string(minor(found.st_dev));
}

bool write_line(const fs::path& file, const std::string& line) {
  std::ofstream stream(file);
  stream << line << std::flush;
  return static_cast<bool>(stream);
}

// A group of processes that may read so many bytes/s of a disk, of either version of cgroups.
class ThrottledGroup {
 public:
  ThrottledGroup(const std::string& disk, std::size_t bytes_per_s) {
    const std::string name = "headrace-slow-disk-" + std::to_string(::getpid());
    const std::string rate = std::to_string(bytes_per_s);
    const fs::path first = "/sys/fs/cgroup/blkio";
    const fs::path second = "/sys/fs/cgroup";
    if (fs::exists(first / "cgroup.procs"))
      throttle(first / name, "blkio.throttle.read_bps_device", disk + " " + rate);
    else if (fs::exists(second / "cgroup.subtree_control"))
      throttle(second / name, "io.max", disk + " rbps=" + rate);
  }
  ~ThrottledGroup() {
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  ThrottledGroup(const ThrottledGroup&) = delete;
  ThrottledGroup& operator=(const ThrottledGroup&) = delete;

  bool works() const { return works_; }
  fs::path processes() const { return folder_ / "cgroup.procs"; }

 private:
  void throttle(const fs::path& folder, const char* file, const std::string& line) {
    if (::mkdir(folder.c_str(), 0755) != 0) return;
    folder_ = folder;
    works_ = write_line(folder / file, line);
  }

  fs::path folder_;
  bool works_ = false;
};

// The program in the group; it enters before it becomes the program.
Finished doctor_in(const ThrottledGroup& group, const fs::path& folder,
                   const std::vector<std::string>& more) {
  std::vector<std::string> words{"-c", "echo $$ > \"$0\" && exec \"$@\"",
                                 group.processes().string(), HEADRACE_PROGRAM, "doctor"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program("/bin/sh", words, {.folder = folder});
}

}  // namespace

TEST_CASE("doctor names a disk that is slower than the step, and brings the data nearer") {
  const PlantedJob job;
  constexpr std::int64_t rows = 2048, width = 512;
  Hdf5Writer writer(job.path() / "rows.h5");
  writer.add("x", DType::float32, rows, {width});
  writer.append("x", Tensor::zeros(DType::float32, {rows, width}));
  writer.finish();
  const std::vector<std::string> from_file{
      "loader.yaml",
      "--seconds",
      "2",
      "--json",
      "doctor.json",
      "--set",
      "data={source: hdf5, file: rows.h5, datasets: [x], resident: 1MiB}",
      "--set",
      "shuffle=true",
      "--set",
      "delay.consumer=5ms"};
  // Once without: what the program itself reads from the disk is in memory then.
  std::vector<std::string> words{"doctor"};
  words.insert(words.end(), from_file.begin(), from_file.end());
  const Finished quick = run_program(HEADRACE_PROGRAM, words, {.folder = job.path()});
  REQUIRE_MESSAGE(quick.status == 0, quick.err);
  const auto without = nlohmann::json::parse(content_of(job.path() / "doctor.json"));
  if (!without.at("ceilings").at("storage").at("cold").get<bool>())
    return skip("needs a temporary folder on a disk");
  const ThrottledGroup group(disk_of(job.path()), 1 << 20);
  if (!group.works()) return skip("needs a disk that the kernel can hold back (root, cgroups)");
  const Finished slow = doctor_in(group, job.path(), from_file);
  REQUIRE_MESSAGE(slow.status == 0, slow.err);
  std::printf("%s", slow.out.c_str());
  const auto found = nlohmann::json::parse(content_of(job.path() / "doctor.json"));
  CAPTURE(slow.out);
  CHECK(without.at("limit") == "device");
  CHECK(found.at("limit") == "storage");
  CHECK(found.at("storage_verdict").at("stage") == "read");
  REQUIRE(found.contains("advice"));
  if (found.at("ceilings").at("storage").contains("io_pressure_share"))
    CHECK(found.at("advice").at("rule") == "faster-storage");
  CHECK(contains(found.at("to_do"), "data.resident 1MiB -> "));
  const auto& environment = found.at("environment");
  const auto speed = std::ranges::find_if(environment, [](const nlohmann::json& finding) {
    return finding.at("what") == "read speed of the data";
  });
  REQUIRE(speed != environment.end());
  CHECK(speed->at("severity") == "warning");
  CHECK(contains(speed->at("wanted"), "for the step"));
}
