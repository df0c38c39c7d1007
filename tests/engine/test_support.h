#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <time.h>
#include <utility>

#include <dirent.h>
#include <unistd.h>

namespace headrace::test {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// Under which a twin that has a race on purpose is left out.
#ifdef __SANITIZE_THREAD__
inline constexpr bool finds_races = true;
#else
inline constexpr bool finds_races = false;
#endif

/// Counts are cut under a sanitizer, which costs 5 to 15 times the time.
inline constexpr std::int64_t scaled(std::int64_t full, std::int64_t cut) {
  return sanitized ? cut : full;
}

/// Ends the program with a sentence when a test case outlives it: a hang becomes a failure. Later
/// than `eventually` gives up, and sooner than ctest does.
class Watchdog {
 public:
  explicit Watchdog(std::string what, std::chrono::seconds limit = sanitized ? 280s : 240s)
      : thread_([what = std::move(what), limit](std::stop_token stop) {
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock(mutex);
          never.wait_for(lock, stop, limit, [] { return false; });
          if (stop.stop_requested()) return;
          std::fprintf(stderr, "HANG: %s did not end in time\n", what.c_str());
          std::_Exit(3);
        }) {}

 private:
  std::jthread thread_;
};

/// Polls until `holds` does, at most `limit`.
template <class Condition>
bool eventually(Condition holds, std::chrono::milliseconds limit = 60s) {
  const auto until = std::chrono::steady_clock::now() + (sanitized ? 4 * limit : limit);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

inline int entries_of(const char* folder) {
  DIR* dir = opendir(folder);
  int count = 0;
  while (dir != nullptr && readdir(dir) != nullptr)
    ++count;
  if (dir != nullptr) closedir(dir);
  return count;
}

/// Whether a thread of this process has ended or, as the kernel tells it, is about to.
inline bool is_ending(const std::string& id) {
  std::ifstream file("/proc/self/task/" + id + "/stat");
  std::string stat;
  std::getline(file, stat);
  std::istringstream behind_name(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  std::string unread;
  for (int field = 3; field < 9; ++field)
    behind_name >> unread;
  unsigned flags = 0;
  constexpr unsigned exiting = 4;
  return !(behind_name >> flags) || (flags & exiting) != 0;
}

/// Those that were joined may be listed a moment longer.
inline int thread_count() {
  DIR* dir = opendir("/proc/self/task");
  int count = 0;
  for (const dirent* entry = nullptr; dir != nullptr && (entry = readdir(dir)) != nullptr;)
    count += entry->d_name[0] != '.' && !is_ending(entry->d_name);
  if (dir != nullptr) closedir(dir);
  return count;
}
/// For where the kernel does not tell.
inline int settled_thread_count() {
  int count = thread_count();
  for (int alike = 0; alike < 20; ++alike) {
    std::this_thread::sleep_for(1ms);
    const int now = thread_count();
    if (std::exchange(count, now) != now) alike = 0;
  }
  return count;
}
inline int open_files() {
  return entries_of("/proc/self/fd") - 2;
}

inline std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// CPU time of all threads of the process.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace headrace::test
