#include <headrace/apps/train/own_child.h>
#include <headrace/engine/base/error.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include <sys/mman.h>

namespace headrace::inline v1::app {
namespace {

// The line of its error, "headrace: [memory] ...": others said something before.
std::string error_line(const std::string& output) {
  const auto error = output.find(": [");
  const auto before = error == std::string::npos ? error : output.rfind('\n', error);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  return output.substr(first, output.find('\n', first) - first);
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

std::string ending_of(const ChildResult& child) {
  if (child.status > 128) return fmt::format("was ended by signal {}", child.status - 128);
  return fmt::format("ended with {}: {}", child.status, error_line(child.output));
}

}  // namespace headrace::inline v1::app
