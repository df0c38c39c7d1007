#include <headrace/apps/run/abort_on_hang.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// "sleeping", from "State:\tS (sleeping)".
std::string state_of(const fs::path& thread) {
  std::ifstream in(thread / "status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("State:")) continue;
    const auto open = line.find('(');
    const auto close = line.find(')');
    if (open != std::string::npos && close > open) return line.substr(open + 1, close - open - 1);
  }
  return "in an unknown state";
}

[[noreturn]] void abort_with(const HangReport& report) {
  const std::string text = "headrace: a hang: " + to_string(report) +
                           "\nthreads of the process:\n" + describe_threads() +
                           "headrace: aborted by the watchdog (threads.watchdog in the "
                           "configuration)\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

}  // namespace

std::string describe_threads() {
  std::string text;
  std::error_code none;
  for (const fs::directory_entry& thread : fs::directory_iterator("/proc/self/task", none)) {
    const std::string where = first_line(thread.path() / "wchan");
    text += "  " + thread.path().filename().string() + " " + first_line(thread.path() / "comm") +
            ": " + state_of(thread.path());
    if (!where.empty() && where != "0") text += ", in " + where;
    text += "\n";
  }
  return text;
}

WatchdogOptions abort_on_hang(Duration after) {
  return {.after = std::chrono::nanoseconds(static_cast<std::int64_t>(after.seconds * 1e9)),
          .action = &abort_with};
}

}  // namespace headrace::inline v1::app
