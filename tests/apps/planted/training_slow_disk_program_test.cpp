// A whole training whose disk is slow: the kernel holds back what its group of processes reads.
// Part of the long tier, for root alone.
#include <headrace/tests/apps/planted/planted_training.h>
#include <headrace/tests/apps/planted/throttled_group.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

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
  CHECK(advice.at("setting") == "image.resize");  // decoded whole, pictures can be cached
  CHECK(contains(advice.at("action").get<std::string>(), "data.cache.memory"));
  REQUIRE(told.epochs.size() == 1);
  CHECK(told.epochs.front().at("bottleneck") == "read");
}
