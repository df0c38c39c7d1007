#include <headrace/apps/terminal/terminal_mode.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

// Zeros where it is not known.
winsize size_of(int file_descriptor) {
  winsize size{};
  return ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

std::size_t columns_by_terminal(int file_descriptor) {
  return size_of(file_descriptor).ws_col;
}

// 0 where COLUMNS says nothing of use.
std::size_t columns_by_environment() {
  const std::string_view text = environment("COLUMNS");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc{} && end == text.data() + text.size() ? columns : 0;
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
  const std::size_t columns = columns_by_terminal(file_descriptor);
  return columns == 0 ? 80 : columns;
}

std::size_t terminal_rows(int file_descriptor) {
  const std::size_t rows = size_of(file_descriptor).ws_row;
  return rows == 0 ? 24 : rows;
}

std::size_t text_columns(int file_descriptor) {
  const std::size_t wanted = columns_by_environment();
  const std::size_t there = columns_by_terminal(file_descriptor);
  if (there > 0) return wanted > 0 ? std::min(wanted, there) : there;
  return wanted > 0 ? wanted : 100;
}

}  // namespace headrace::inline v1::app
