#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/plain_file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace headrace::inline v1 {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";
constexpr std::size_t compared_at_once = std::size_t{1} << 20;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Drawn once. Its number does not tell a process from one that ended: in a container a program has
// the same number at every start, and would take what its killed forerunner left for its own.
const std::string& drawn_word() {
  static const std::string word = std::to_string(std::random_device{}());
  return word;
}

std::string maker_word(pid_t process) {
  return std::to_string(process) + "-" + drawn_word() + "-";
}

fs::path temporary_for(const fs::path& path) {
  static std::atomic<unsigned> number{0};
  return path.string() + std::string(temporary_mark) + maker_word(::getpid()) +
         std::to_string(number++);
}

// Removes the temporary file unless it has got its name.
class Temporary {
 public:
  Temporary(const fs::path& path, std::string who)
      : path_(path), who_(std::move(who)), temporary_(temporary_for(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void write(const FileContent& content) const {
    PlainFile file(temporary_, O_WRONLY | O_CREAT | O_EXCL, who_);
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
};

// What follows the mark in the name of a temporary file; empty for any other name.
std::string_view behind_mark(std::string_view name) {
  const std::size_t mark = name.rfind(temporary_mark);
  return mark == std::string_view::npos ? "" : name.substr(mark + temporary_mark.size());
}

// Whether a name is of a temporary file whose process has ended.
bool is_stale(std::string_view name) {
  const std::string_view words = behind_mark(name);
  const char* const last = words.data() + words.size();
  pid_t maker = 0;
  const auto [end, error] = std::from_chars(words.data(), last, maker);
  if (error != std::errc{} || end == last || *end != '-' || maker <= 0) return false;
  if (maker == ::getpid()) return !words.starts_with(maker_word(maker));
  return ::kill(maker, 0) != 0 && errno == ESRCH;
}

}  // namespace

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
    if (!is_stale(entry.path().filename().string())) continue;
    std::error_code ignored;
    if (fs::remove(entry.path(), ignored)) removed.push_back(entry.path());
  }
  return removed;
}

}  // namespace headrace::inline v1
