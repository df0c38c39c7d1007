#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace headrace::test {

/// A group of processes that may read so many bytes/s of a folder's disk, of either version of
/// cgroups; for root alone. Its processes have ended when it goes.
class ThrottledGroup {
 public:
  ThrottledGroup(const std::filesystem::path& of, std::size_t bytes_per_s) {
    struct stat found {};
    if (::stat(of.c_str(), &found) != 0 || major(found.st_dev) == 0) return;
    const std::string disk =
        std::to_string(major(found.st_dev)) + ':' + std::to_string(minor(found.st_dev));
    const std::string name = "headrace-slow-disk-" + std::to_string(::getpid());
    const std::string rate = std::to_string(bytes_per_s);
    const std::filesystem::path groups = "/sys/fs/cgroup";
    if (std::filesystem::exists(groups / "blkio/cgroup.procs"))
      throttle(groups / "blkio" / name, "blkio.throttle.read_bps_device", disk + ' ' + rate);
    else if (std::filesystem::exists(groups / "cgroup.subtree_control"))
      throttle(groups / name, "io.max", disk + " rbps=" + rate);
  }
  ~ThrottledGroup() {
    if (!folder_.empty()) ::rmdir(folder_.c_str());
  }
  ThrottledGroup(const ThrottledGroup&) = delete;
  ThrottledGroup& operator=(const ThrottledGroup&) = delete;

  /// Whether the kernel holds the disk back.
  bool works() const { return works_; }
  /// A shell that enters the group and becomes the program behind it.
  std::vector<std::string> shell() const {
    return {"/bin/sh", "-c", "echo $$ > \"$0\" && exec \"$@\"",
            (folder_ / "cgroup.procs").string()};
  }

 private:
  void throttle(const std::filesystem::path& folder, const char* file, const std::string& line) {
    if (::mkdir(folder.c_str(), 0755) != 0) return;
    folder_ = folder;
    std::ofstream stream(folder / file);
    stream << line << std::flush;
    works_ = static_cast<bool>(stream);
  }

  std::filesystem::path folder_;
  bool works_ = false;
};

}  // namespace headrace::test
