#include <headrace/engine/base/bounded_wait.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/monitor/detail/event_record.h>
#include <headrace/monitor/event_file.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::monitor {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view prefix = "events.out.tfevents.";
constexpr std::size_t most_waiting = std::size_t{1} << 20;  // bytes

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// The newest second that an event file of the folder is named after; 0 where there is none.
long long newest_second(const fs::path& folder) {
  long long newest = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix))
      newest = std::max(newest, std::atoll(name.c_str() + prefix.size()));
  }
  return newest;
}

// Readers take the files of a folder in the order of their names: a later one must not come before,
// though it was begun in the same second or clocks differ.
std::string name_behind(long long newest) {
  static std::atomic<int> files{0};
  const long long second = std::max(static_cast<long long>(wall_time()), newest + 1);
  return fmt::format("{}{:010}.{}.{}.{}", prefix, second, host_name(), ::getpid(), files++);
}

}  // namespace

EventFile::EventFile(fs::path folder, EventFileOptions options)
    : options_(std::move(options)),
      path_(std::move(folder)),
      last_flush_(Clock::now()),
      forks_(headrace::detail::forks()) {
  try {
    fs::create_directories(path_);
    const long long newest = newest_second(path_);
    path_ /= name_behind(newest);
    errno = 0;
    stream_.open(path_, std::ios::binary);
    if (!stream_)
      throw fs::filesystem_error("open", std::error_code(errno, std::generic_category()));
    add(detail::version_event(wall_time()));
    if (newest > 0)
      add(detail::restart_event({.wall_time = wall_time(), .step = options_.first_step}));
    flush();
  } catch (const fs::filesystem_error& error) {
    give_up(error.code().message());
  }
}

EventFile::~EventFile() {
  if (forks_ == headrace::detail::forks()) flush();
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  add(detail::scalar_event({.wall_time = wall_time(), .step = step}, tag, value));
}

void EventFile::image(std::string_view tag, std::int64_t step, std::span<const std::byte> png) {
  add(detail::image_event({.wall_time = wall_time(), .step = step}, tag, png));
}

void EventFile::add(std::string_view message) {
  if (!gave_up_ && forks_ != headrace::detail::forks())
    give_up("a process that was forked from the file's own");
  if (gave_up_) return;
  waiting_ += detail::record_of(message);
  if (waiting_.size() > most_waiting ||
      Clock::now() - last_flush_ >= bounded_wait(options_.flush_every))
    flush();
}

void EventFile::flush() {
  if (gave_up_ || forks_ != headrace::detail::forks()) return;
  last_flush_ = Clock::now();
  errno = 0;
  stream_.write(waiting_.data(), static_cast<std::streamsize>(waiting_.size()));
  stream_.flush();
  waiting_.clear();
  if (!stream_) give_up(std::strerror(errno));
}

void EventFile::give_up(const std::string& what) {
  gave_up_ = true;
  waiting_.clear();
  stream_.close();
  if (options_.warn)
    options_.warn(fmt::format(
        "[event file] {}: must be writable, got: {}; TensorBoard shows no more of this run, "
        "which goes on",
        path_.string(), what));
}

}  // namespace headrace::inline v1::monitor
