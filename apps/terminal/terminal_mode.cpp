#include <headrace/apps/terminal/terminal_mode.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace headrace::inline v1::app {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

}  // namespace

TerminalMode terminal_mode(int file_descriptor) {
  if (isatty(file_descriptor) == 0) return TerminalMode::lines;
  const std::string_view term = environment("TERM");
  if (term.empty() || term == "dumb") return TerminalMode::lines;
  const std::string_view ci = environment("CI");
  if (!ci.empty() && ci != "false" && ci != "0") return TerminalMode::lines;
  return TerminalMode::live;
}

std::size_t terminal_columns(int file_descriptor) {
  winsize size{};
  if (ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace headrace::inline v1::app
