#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>
#include <headrace/loaders/listing/detail/missing_file.h>
#include <headrace/loaders/listing/detail/value_collector.h>
#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/manifest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

/// A file by whatever path.
using FileNumber = std::pair<dev_t, ino_t>;

/// Files that a manifest names, each looked at once.
class ManifestFiles {
 public:
  /// The request outlives it.
  explicit ManifestFiles(const ManifestRequest& request)
      : manifest_(request.file),
        root_(request.root),
        follow_links_(request.follow_links),
        folder_(root_.c_str()) {}

  /// Adds the file that a line names in a column. Throws ConfigError where it leaves the root, by a
  /// link either, or is no regular file.
  FileNumber add(FileTable& files, std::string_view column, std::string_view written,
                 std::int64_t line);

 private:
  std::string_view inside(std::string_view column, std::string_view path, std::int64_t line) const;
  void check_folder(const std::string& folder);

  const std::string& manifest_;
  const std::string& root_;
  bool follow_links_;
  FileDescriptor folder_;
  std::string last_folder_;
  std::unordered_set<std::string> folders_;  // that were looked at
};

namespace fs = std::filesystem;

/// The path below the root.
std::string_view ManifestFiles::inside(std::string_view column, std::string_view path,
                                       std::int64_t line) const {
  const auto refuse = [&](const std::string& rule) {
    refuse_line(manifest_, line, std::string(column) + " " + detail::quoted(path) + ": " + rule);
  };
  if (path.empty())
    refuse_line(manifest_, line, std::string(column) + " must name a file, got nothing");
  if (path.size() >= 4096 || path.find('\0') != std::string_view::npos)
    refuse("must be a path of at most 4095 bytes without a zero");
  if (path.starts_with('/')) {
    if (!path.starts_with(root_ + "/"))
      refuse("must lie below " + printable(root_) + "; give the folder of all as root");
    path.remove_prefix(root_.size() + 1);
  }
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, end) == "..") refuse("must not go up by \"..\"; write the path without it");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return path;
}

FileNumber ManifestFiles::add(FileTable& files, std::string_view column, std::string_view written,
                              std::int64_t line) {
  std::string path(inside(column, written, line));
  const auto refuse = [&](const std::string& rule) {
    refuse_line(manifest_, line, std::string(column) + " " + printable(path) + ": " + rule);
  };
  struct stat status {};
  const auto found = [&] {
    return ::fstatat(folder_.number(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (!found()) {
    const std::string why = error_text();
    const std::string spelled = spelled_here(written);
    path = inside(column, spelled, line);
    if (!found()) refuse("cannot be found: " + why + why_missing(root_, path));
  }
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && !follow_links_) check_folder(path.substr(0, slash));
  if (S_ISLNK(status.st_mode)) {
    check_link(root_ + "/" + path, root_, "manifest", follow_links_);
    if (::fstatat(folder_.number(), path.c_str(), &status, 0) != 0)
      refuse("cannot be found: " + error_text());
  }
  if (!S_ISREG(status.st_mode)) refuse("must be a regular file");
  files.add(path, static_cast<std::uint64_t>(status.st_size));
  return {status.st_dev, status.st_ino};
}

/// Links on the way may not leave the root either.
void ManifestFiles::check_folder(const std::string& folder) {
  if (folder == last_folder_) return;
  last_folder_ = folder;
  if (!folders_.insert(folder).second) return;
  std::error_code error;
  const std::string target = fs::canonical(root_ + "/" + folder, error).native();
  if (!error && target != root_ && !target.starts_with(root_ + "/")) {
    throw ConfigError("[manifest] " + printable(folder) + ": link leaves the folder, to " +
                      printable(target) +
                      "; give the folder of all as root, or set follow_links (on a command line "
                      "--follow-links)");
  }
}

std::size_t half_of_memory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) / 2 *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// What usually separates the fields of such a file; nothing: it has an object a line.
std::optional<char> usual_separator(const std::string& file) {
  const std::string extension = fs::path(file).extension().native();
  if (extension == ".csv") return ',';
  if (extension == ".tsv") return '\t';
  if (extension == ".jsonl") return std::nullopt;
  throw ConfigError("[manifest] " + printable(file) + ": must be called .csv, .tsv or .jsonl");
}

[[noreturn]] void refuse_list(const std::string& file, std::int64_t line, std::size_t bytes) {
  throw ResourceError("[manifest] " + printable(file) + ":" + std::to_string(line) +
                      ": the list of files up to here takes " + std::to_string(bytes >> 20) +
                      " MiB, more than it may; divide the manifest");
}

/// What is trained on must not be tested on: records of one key(i) are in one split.
template <class Key>
void check_splits(const Manifest& manifest, const std::string& file, const Key& key) {
  const std::vector<DataSplit>& splits = manifest.values.splits;
  std::vector<std::size_t> order(splits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, key);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const DataSplit a = splits[order[i - 1]];
    const DataSplit b = splits[order[i]];
    if (a == b || key(order[i - 1]) != key(order[i])) continue;
    const std::string_view one = manifest.files.path(order[i - 1]);
    const std::string_view other = manifest.files.path(order[i]);
    throw ConfigError("[manifest] " + printable(file) + ": " + printable(one) +
                      (one == other ? "" : " and " + printable(other) + " are one file, which") +
                      " must be in one split, got " + std::string(name_of(std::min(a, b))) +
                      " and " + std::string(name_of(std::max(a, b))));
  }
}

}  // namespace

Manifest read_manifest(const ManifestRequest& request) {
  ManifestText text(request.file);
  const std::size_t most = request.memory != 0 ? request.memory : half_of_memory();
  Manifest manifest;
  ManifestFiles files(request);
  ValueCollector values(request);
  ManifestColumns found;
  std::vector<FileNumber> numbers;
  const auto begin = [&](const ManifestColumns& columns) {
    found = columns;
    values.begin(columns);
  };
  const auto take = [&](const ManifestRow& row) {
    const FileNumber number = files.add(manifest.files, found.path, row.path, row.line);
    if (!found.split.empty()) numbers.push_back(number);
    if (!found.mask.empty()) files.add(manifest.masks, found.mask, row.mask, row.line);
    values.take(row);
    if (manifest.files.size() % 1024 != 0) return;
    const std::size_t taken =
        manifest.files.memory() + manifest.masks.memory() + values.memory() + memory_of(numbers);
    if (taken > most) refuse_list(request.file, row.line, taken);
  };
  if (const std::optional<char> separator = usual_separator(request.file))
    read_csv_manifest(text, *separator, request, {.begin = begin, .take = take});
  else
    read_jsonl_manifest(text, request, {.begin = begin, .take = take});
  if (manifest.files.size() == 0) refuse_line(request.file, 1, "must list a file, got none");
  manifest.files.root = request.root;
  if (!found.mask.empty()) manifest.masks.root = request.root;
  manifest.values = values.finish();
  // By path, and by whatever path, link or hard link: not every file system keeps its numbers.
  check_splits(manifest, request.file, [&](std::size_t i) { return manifest.files.path(i); });
  check_splits(manifest, request.file, [&](std::size_t i) { return numbers[i]; });
  manifest.bytes = text.bytes();
  manifest.changed_ns = text.changed_ns();
  manifest.checksum = text.checksum();
  return manifest;
}

std::string canonical_manifest(const fs::path& file) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  if (error || !fs::is_regular_file(path))
    throw ConfigError("[manifest] " + printable(file.native()) + ": must be a file of rows");
  return path.native();
}

std::vector<std::string> names_of_columns(const fs::path& manifest) {
  const std::string file = canonical_manifest(manifest);
  const std::optional<char> separator = usual_separator(file);
  ManifestText text(file);
  return separator ? csv_columns(text, *separator, file) : jsonl_columns(text, file);
}

}  // namespace headrace::inline v1::detail
