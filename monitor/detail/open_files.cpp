#include <headrace/monitor/detail/open_files.h>
#include <headrace/monitor/detail/process_stat.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace headrace::inline v1::monitor::detail {

// Linux 6.2 and later say the number as the folder's size; before, tens of thousands of names may
// have to be counted.
std::uint64_t open_files(const std::filesystem::path& folder) {
  struct statfs system {};
  struct stat status {};
  if (::statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
      ::stat(folder.c_str(), &status) == 0 && status.st_size > 0)
    return static_cast<std::uint64_t>(status.st_size);
  return numbered_entries(folder).size();
}

}  // namespace headrace::inline v1::monitor::detail
