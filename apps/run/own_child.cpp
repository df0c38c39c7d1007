#include <headrace/apps/run/own_child.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::string_view hang_words = "headrace: a hang: ";  // of abort_on_hang()

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

// As the program begins what it says at its end; one of a job has a name of its own.
bool is_own(const std::string& line) {
  static const std::string name =
      std::filesystem::path(this_program_path()).filename().string() + ": ";
  return line.starts_with("headrace: ") || line.starts_with(name);
}

// "headrace: [memory] ...": others said something before it, and perhaps behind it.
std::string error_line(const std::string& output) {
  const std::vector<std::string> lines = lines_of(output);
  if (lines.empty()) return "it said nothing";
  const auto own = std::find_if(lines.rbegin(), lines.rend(), is_own);
  return own != lines.rend() ? *own : lines.back();
}

// "[loader] no stage has finished ...: headrace-io-0 is in stage ..."; empty where it did not hang.
std::string hang_line(const std::string& output) {
  const std::vector<std::string> lines = lines_of(output);
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (!line->starts_with(hang_words)) continue;
    std::string text = line->substr(hang_words.size());
    const auto next = std::next(line);
    if (next != lines.end() && next->starts_with("  ")) text += ": " + next->substr(2);
    return text;
  }
  return {};
}

}  // namespace

SharedText::SharedText(const char* name) : file_(::memfd_create(name, 0)) {
  if (file_.number() < 0)
    throw ResourceError(fmt::format(
        "[memory] a file in memory must be had to measure, got: {}; raise the limit of open "
        "files, or set memory.measure to false",
        std::strerror(errno)));
}

std::string SharedText::path() const {
  return fmt::format("/proc/self/fd/{}", file_.number());
}

std::string this_program_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

void end_with(pid_t parent) {
  if (parent == 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(killed_status);  // it ended before the call
}

std::string ending_of(const ChildResult& child) {
  if (child.status > 128) {
    const std::string hang = hang_line(child.output);
    return hang.empty() ? fmt::format("was ended by signal {}", child.status - 128)
                        : "hung: " + hang;
  }
  return fmt::format("ended with {}: {}", child.status, error_line(child.output));
}

}  // namespace headrace::inline v1::app
