#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/plain_file.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace headrace::inline v1 {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";
constexpr std::size_t compared_at_once = std::size_t{1} << 20;

std::string hex_word(std::uint32_t number) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", number);
  return text.data();
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Of this start of this machine: what a lock on a file here is worth. Processes are not told apart
// by their numbers, which machines that share a folder, containers and later starts have again.
const std::string& machine_word() {
  static const std::string word = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return hex_word(static_cast<std::uint32_t>(hash_name(id)));
  }();
  return word;
}

// Removes the temporary file unless it has got its name.
class Temporary {
 public:
  Temporary(const fs::path& path, std::string who)
      : path_(path),
        who_(std::move(who)),
        temporary_(path.string() + std::string(temporary_mark) + unique_word()) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (lock_ >= 0) ::close(lock_);
  }

  void write(const FileContent& content) {
    PlainFile file(temporary_, O_WRONLY | O_CREAT | O_EXCL, who_);
    lock_ = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC);
    if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
    file.reserve(content.size);
    content.pieces([&](std::span<const std::byte> bytes) { file.write(bytes); });
    file.sync();
    file.close();
  }

  void compare(const FileContent& content) const {
    PlainFile file(temporary_, O_RDONLY, who_);
    if (file.size() != content.size) refuse(file);
    std::vector<std::byte> read(compared_at_once);
    content.pieces([&](std::span<const std::byte> bytes) {
      while (!bytes.empty()) {
        const std::span piece = std::span(read).first(std::min(read.size(), bytes.size()));
        file.read(piece);
        if (std::memcmp(piece.data(), bytes.data(), piece.size()) != 0) refuse(file);
        bytes = bytes.subspan(piece.size());
      }
    });
  }

  void give_name() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      throw ResourceError(
          "[" + who_ + "] " + path_.string() +
          ": cannot rename the temporary file to it: " + std::generic_category().message(errno));
    temporary_.clear();
  }

 private:
  [[noreturn]] static void refuse(const PlainFile& file) {
    file.refuse("reads back differently from what was written");
  }

  const fs::path& path_;
  std::string who_;
  fs::path temporary_;
  int lock_ = -1;  // held until the file has its name: see remove_stale_temporaries()
};

// What follows the mark in the name of a temporary file; empty for any other name.
std::string_view behind_mark(std::string_view name) {
  const std::size_t mark = name.rfind(temporary_mark);
  return mark == std::string_view::npos ? "" : name.substr(mark + temporary_mark.size());
}

// Whether it is a temporary file that nobody writes any more.
bool is_stale(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::string_view words = behind_mark(name);
  const std::size_t dash = words.find('-');
  if (dash == 0 || dash >= words.size() - 1 ||
      words.find_first_not_of("0123456789abcdef-") != std::string_view::npos)
    return false;
  if (words.substr(0, dash) == machine_word()) {
    const int lock = ::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    const bool taken = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0;
    const bool held = lock >= 0 && !taken && errno == EWOULDBLOCK;
    if (lock >= 0) ::close(lock);
    if (taken || held) return taken;
  }
  std::error_code gone;
  const auto written = fs::last_write_time(file, gone);
  return !gone && fs::file_time_type::clock::now() - written > std::chrono::hours(24);
}

}  // namespace

std::string unique_word() {
  std::random_device random;
  return machine_word() + '-' + hex_word(random()) + hex_word(random());
}

std::vector<std::byte> read_whole_file(const fs::path& path, std::string_view who,
                                       std::uint64_t most) {
  PlainFile file(path, O_RDONLY | O_NONBLOCK, who);
  const std::uint64_t size = file.size();
  if (size > most) {
    file.refuse("must be at most " + std::to_string(most) + " bytes, got " + std::to_string(size) +
                "; is it another file?");
  }
  std::vector<std::byte> bytes(size);
  file.read(bytes);
  return bytes;
}

std::string read_whole_text(const fs::path& path, std::string_view who, std::uint64_t most) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) return {};
  const std::vector<std::byte> bytes = read_whole_file(path, who, most);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_file_atomically(const fs::path& path, const FileContent& content,
                           const AtomicFileOptions& options) {
  Temporary temporary(path, options.who);
  temporary.write(content);
  temporary.compare(content);
  temporary.give_name();
  PlainFile(folder_of(path), O_RDONLY | O_DIRECTORY, options.who).sync();
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes,
                           const AtomicFileOptions& options) {
  write_file_atomically(
      path, FileContent{bytes.size(), [bytes](const ByteSink& sink) { sink(bytes); }}, options);
}

void write_file_atomically(const fs::path& path, std::string_view text,
                           const AtomicFileOptions& options) {
  write_file_atomically(path, std::as_bytes(std::span(text)), options);
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& folder) {
  std::vector<fs::path> removed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_stale(entry.path())) continue;
    std::error_code ignored;
    if (fs::remove(entry.path(), ignored)) removed.push_back(entry.path());
  }
  return removed;
}

}  // namespace headrace::inline v1
