// A whole training whose disk is slow: the kernel holds back what its group of processes reads.
// Part of the long tier, for root alone.
#include <headrace/tests/apps/planted/planted_training.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

bool write_line(const fs::path& file, const std::string& line) {
  std::ofstream stream(file);
  stream << line << std::flush;
  return static_cast<bool>(stream);
}

// A group of processes that may read so many bytes/s of a folder's disk, of either version of
// cgroups. Its processes have ended when it goes.
class ThrottledGroup {
 public:
  ThrottledGroup(const fs::path& of, std::size_t bytes_per_s) {
    struct stat found {};
    if (::stat(of.c_str(), &found) != 0 || major(found.st_dev) == 0) return;
    const std::string disk =
        std::to_string(major(found.st_dev)) + ':' + std::to_string(minor(found.st_dev));
    const std::string name = "headrace-training-" + std::to_string(::getpid());
    const std::string rate = std::to_string(bytes_per_s);
    const fs::path groups = "/sys/fs/cgroup";
    if (fs::exists(groups / "blkio/cgroup.procs"))
      throttle(groups / "blkio" / name, "blkio.throttle.read_bps_device", disk + ' ' + rate);
    else if (fs::exists(groups / "cgroup.subtree_control"))
      throttle(groups / name, "io.max", disk + " rbps=" + rate);
  }
  ~ThrottledGroup() {
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  ThrottledGroup(const ThrottledGroup&) = delete;
  ThrottledGroup& operator=(const ThrottledGroup&) = delete;

  bool works() const { return works_; }
  /// A shell that enters the group and becomes the program behind it.
  std::vector<std::string> shell() const {
    return {"/bin/sh", "-c", "echo $$ > \"$0\" && exec \"$@\"",
            (folder_ / "cgroup.procs").string()};
  }

 private:
  void throttle(const fs::path& folder, const char* file, const std::string& line) {
    if (::mkdir(folder.c_str(), 0755) != 0) return;
    folder_ = folder;
    works_ = write_line(folder / file, line);
  }

  fs::path folder_;
  bool works_ = false;
};

// The pages of all files below it leave memory.
void forget(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    ::fsync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

}  // namespace

TEST_CASE("a training names a disk that is slower than its step, and brings the data nearer") {
  if (!fs::exists("/proc/pressure/io")) return skip("needs the kernel's pressure of storage");
  const PictureTraining training({.small = 1200});
  const std::vector<std::string> settings{
      "training.epochs=1", "training.schedule.cosine.warmup_epochs=0", "data.prefetch=4"};
  // What the program itself reads from the disk is in memory from here on.
  const Told quick = training.told(settings);
  CHECK_FALSE(quick.says("faster-storage"));
  const ThrottledGroup group(training.path(), 512 << 10);
  if (!group.works()) return skip("needs a disk that the kernel can hold back (root, cgroups)");
  forget(training.path() / "pictures");
  const Told told = training.told(settings, group.shell());
  const auto& advice = told.only("faster-storage");
  CHECK(contains(advice.at("verdict").get<std::string>(), "storage is slow: read waits for it"));
  CHECK(advice.at("setting").get<std::string>().starts_with("data.cache."));
  REQUIRE(told.epochs.size() == 1);
  CHECK(told.epochs.front().at("bottleneck") == "read");
}
