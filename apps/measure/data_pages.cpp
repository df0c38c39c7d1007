#include <headrace/apps/measure/data_pages.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Of the section `data`: folders that are written to or that copies go to, and words that may be a
// folder's name by chance.
constexpr std::array<std::string_view, 4> passed_over{"listings", "cache", "stage", "split"};
constexpr std::array<std::string_view, 5> word_keys{"source", "check", "columns", "classes",
                                                    "mask_suffix"};

class Finder {
 public:
  explicit Finder(const Node& document) {
    const Entry* const data = document.find("data");
    if (data == nullptr) return;
    if (const Entry* root = data->value.find("root")) root_ = root->value.text;
    if (const Entry* stage = data->value.find("stage")) found_.stage = stage->value.text;
    for (const Entry& entry : data->value.entries)
      if (std::ranges::find(passed_over, entry.key) == passed_over.end()) visit(entry);
  }
  DataFiles take() { return std::move(found_); }

 private:
  void visit(const Entry& entry) {
    if (std::ranges::find(word_keys, entry.key) == word_keys.end()) visit(entry.value);
  }

  void visit(const Node& node) {
    for (const Entry& entry : node.entries)
      visit(entry);
    for (const Node& item : node.items)
      visit(item);
    if (node.kind == Node::Kind::scalar && !node.text.empty()) named(node.text);
  }

  void named(const fs::path& path) {
    std::error_code failed;
    if (fs::is_regular_file(path, failed)) {
      add(path);
      const fs::path extension = path.extension();
      if (extension == ".csv" || extension == ".tsv" || extension == ".jsonl") listed(path);
    } else if (fs::is_directory(path, failed)) {
      below(path);
    }
  }

  void below(const fs::path& folder) {
    std::error_code failed;
    const auto options = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator place(folder, options, failed);
    for (; !failed && found_.all && place != fs::recursive_directory_iterator();
         place.increment(failed))
      if (place->is_regular_file(failed)) add(place->path());
  }

  // Whatever stands between commas, tabs and quotes and is a file.
  void listed(const fs::path& list) {
    constexpr std::string_view ends = ",\t\"\r";
    const fs::path root = root_.empty() ? list.parent_path() : root_;
    std::ifstream stream(list);
    std::error_code failed;
    for (std::string line; found_.all && std::getline(stream, line);) {
      for (std::size_t first = 0; first < line.size();) {
        const std::size_t last = std::min(line.find_first_of(ends, first), line.size());
        const fs::path file = root / line.substr(first, last - first);
        if (last > first && fs::is_regular_file(file, failed)) add(file);
        first = last + 1;
      }
    }
  }

  void add(const fs::path& file) {
    if (found_.files.size() >= DataFiles::most) {
      found_.all = false;
      return;
    }
    std::error_code failed;
    const std::uintmax_t bytes = fs::file_size(file, failed);
    if (failed || !seen_.insert(file.lexically_normal().string()).second) return;
    found_.files.push_back(file);
    found_.bytes += bytes;
  }

  fs::path root_;
  DataFiles found_;
  std::set<std::string> seen_;
};

bool is_in_memory(int file) {
  struct statfs system {};
  if (::fstatfs(file, &system) != 0) return false;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

// Of a file, share of its pages that are in memory; 0 where nobody tells.
double resident_share(int file, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return 0.0;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool told = ::mincore(mapped, bytes, pages.data()) == 0;
  ::munmap(mapped, bytes);
  if (!told) return 0.0;
  const auto held = std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<double>(held) / static_cast<double>(pages.size());
}

struct Asked {
  std::uint64_t bytes = 0;      // of files on storage
  std::uint64_t in_memory = 0;  // of files that are memory
  double looked_at = 0.0;       // bytes
  double resident = 0.0;        // of these
};

void drop(const fs::path& path, bool look, Asked& asked) {
  const headrace::detail::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return;
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(path, failed);
  if (failed || bytes == 0) return;
  if (is_in_memory(file.number())) {
    asked.in_memory += bytes;
    return;
  }
  ::fdatasync(file.number());  // a page that is not on disk yet stays
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  asked.bytes += bytes;
  if (!look) return;
  asked.looked_at += static_cast<double>(bytes);
  asked.resident += static_cast<double>(bytes) * resident_share(file.number(), bytes);
}

}  // namespace

fs::path DataFiles::folder() const {
  const fs::path parent = files.empty() ? fs::path() : files.front().parent_path();
  return parent.empty() ? "." : parent;
}

DataFiles find_data_files(const Node& document) {
  return Finder(document).take();
}

DroppedPages drop_pages(const DataFiles& data) {
  constexpr std::size_t most_looked_at = 64;
  constexpr double mostly = 0.5;
  Asked asked;
  const std::size_t each = data.files.size() / most_looked_at + 1;
  for (std::size_t i = 0; i < data.files.size(); ++i)
    drop(data.files[i], i % each == 0, asked);
  if (asked.bytes == 0 && asked.in_memory == 0)
    return {.how = "storage is memory: the configuration names no file with data"};
  if (!data.stage.empty())
    return {.how = "storage is memory: the copy in data.stage is read just after it was written"};
  if (asked.in_memory > asked.bytes)
    return {.how = "storage is memory: the data lie in a file system that has no disk"};
  if (asked.resident > mostly * asked.looked_at)
    return {.how = fmt::format("storage is memory: {} of the data stayed in the page cache",
                               monitor::format_share(asked.resident / asked.looked_at))};
  return {.cold = true,
          .how = fmt::format("{} of {} files{} dropped from the page cache",
                             monitor::format_bytes(asked.bytes), data.files.size(),
                             data.all ? "" : ", and not all there are,")};
}

}  // namespace headrace::inline v1::app
