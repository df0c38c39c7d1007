#include <headrace/apps/run/result_file.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/plain_file.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Where a link leads, also one to a file that is yet to come.
fs::path behind_links(fs::path path) {
  constexpr int most_links = 40;
  std::error_code failed;
  for (int i = 0; i < most_links && fs::is_symlink(path, failed); ++i)
    path = path.parent_path() / fs::read_symlink(path, failed);  // an absolute one replaces it
  return path;
}

bool are_same(const fs::path& path, const fs::path& other) {
  std::error_code failed;
  if (fs::equivalent(path, other, failed)) return true;
  return fs::weakly_canonical(fs::absolute(path), failed) ==
         fs::weakly_canonical(fs::absolute(behind_links(other)), failed);
}

// Standard output or error where the path is a name of it: null elsewhere.
std::FILE* stream_of(const fs::path& path) {
  struct stat asked {};
  if (::stat(path.c_str(), &asked) != 0) return nullptr;
  for (const auto& [stream, number] :
       {std::pair(stdout, STDOUT_FILENO), std::pair(stderr, STDERR_FILENO)}) {
    struct stat known {};
    if (::fstat(number, &known) != 0) continue;
    if (known.st_dev == asked.st_dev && known.st_ino == asked.st_ino) return stream;
  }
  return nullptr;
}

void write_to(std::FILE* stream, std::span<const std::byte> bytes, const std::string& name) {
  const bool all = std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size();
  if (!all || std::fflush(stream) != 0)
    throw ResourceError(fmt::format("{} must take {} bytes, got: {}", name, bytes.size(),
                                    std::generic_category().message(errno)));
}

}  // namespace

ResultFile::ResultFile(const fs::path& path, std::string name, const std::vector<fs::path>& others)
    : path_(path), name_(std::move(name)) {
  if (path.empty()) return;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  straight_ = stream_of(path) != nullptr ||
              (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status));
  if (!straight_) path_ = behind_links(path);
  for (const fs::path& other : others)
    if (!straight_ && !other.empty() && are_same(path_, other))
      throw ConfigError(
          fmt::format("{} must be another file than {}, got the same", name_, other.string()));
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const bool can_write =
      straight_ ? ::access(path_.c_str(), W_OK) == 0 : ::access(folder.c_str(), W_OK | X_OK) == 0;
  if (fs::is_directory(status) || !fs::is_directory(folder, failed) || !can_write)
    throw ConfigError(
        fmt::format("{} must name a file in a folder that is there and can be written, got {}",
                    name_, path.string()));
}

bool ResultFile::is_there() const {
  std::error_code failed;
  return !straight_ && fs::is_regular_file(path_, failed);
}

void ResultFile::write(std::string_view text) const {
  write(std::as_bytes(std::span(text)));
}

void ResultFile::write(std::span<const std::byte> bytes) const {
  if (path_.empty()) return;
  if (std::FILE* const stream = straight_ ? stream_of(path_) : nullptr) {
    write_to(stream, bytes, name_);
  } else if (straight_) {
    PlainFile file(path_, O_WRONLY);
    file.write(bytes);
    file.close();
  } else {
    write_file_atomically(path_, bytes);
  }
}

}  // namespace headrace::inline v1::app
