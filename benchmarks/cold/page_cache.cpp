#include <headrace/benchmarks/cold/page_cache.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

namespace {

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw ResourceError("[benchmark] cannot open " + path.string());
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

struct Pages {
  std::size_t cached = 0;
  std::size_t all = 0;
};

void count(const std::filesystem::path& path, std::vector<unsigned char>& marks, Pages& pages) {
  const File file(path);
  struct stat status {};
  ::fstat(file.descriptor(), &status);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0) return;
  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (map == MAP_FAILED) throw ResourceError("[benchmark] cannot map " + path.string());
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  marks.resize((bytes + page - 1) / page);
  const int answer = ::mincore(map, bytes, marks.data());
  ::munmap(map, bytes);
  if (answer != 0) throw ResourceError("[benchmark] mincore refuses " + path.string());
  pages.all += marks.size();
  pages.cached += static_cast<std::size_t>(
      std::ranges::count_if(marks, [](unsigned char mark) { return (mark & 1U) != 0; }));
}

}  // namespace

double cached_share(const std::vector<std::filesystem::path>& files) {
  Pages pages;
  std::vector<unsigned char> marks;
  for (const auto& path : files)
    count(path, marks, pages);
  return pages.all == 0 ? 0 : static_cast<double>(pages.cached) / static_cast<double>(pages.all);
}

void evict(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return;
  ::syncfs(File(files.front()).descriptor());  // dirty pages would stay
  for (const auto& path : files)
    ::posix_fadvise(File(path).descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  const double left = cached_share(files);
  if (left <= 0.01) return;
  throw ResourceError("[benchmark] " + std::to_string(100 * left) + " % of " +
                      files.front().parent_path().string() +
                      " stays in the page cache; choose a --folder on a disk");
}

}  // namespace headrace::inline v1::bench
