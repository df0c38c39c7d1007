#include <headrace/engine/base/printable.h>
#include <headrace/engine/base/utf8.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <system_error>

namespace headrace::inline v1 {
namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(byte));
    out += escaped;
  }
}

/// The byte that \xHH at `at` stands for; -1: none stands there.
int escaped_byte(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\\x" || at + 4 > text.size()) return -1;
  unsigned byte = 0;
  const char* end = text.data() + at + 4;
  const auto [to, error] = std::from_chars(text.data() + at + 2, end, byte, 16);
  return to == end && error == std::errc() ? static_cast<int>(byte) : -1;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence(text, at);
    const std::string_view part = text.substr(at, std::max(length, std::size_t{1}));
    if (at + part.size() > most) return out + "...";
    if (length == 0 || is_control(utf8_character(part))) {
      append_escaped(out, part);
    } else {
      out += part;
    }
    at += part.size();
  }
  return out;
}

std::string printable_name(std::string_view name) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (escaped_byte(name, at) < 0) continue;
    out += printable(name.substr(begin, at - begin), std::string_view::npos);
    append_escaped(out, name.substr(at, 1));
    begin = at + 1;
  }
  return out + printable(name.substr(begin), std::string_view::npos);
}

std::string name_of_printable(std::string_view printed) {
  std::string name;
  for (std::size_t at = 0; at < printed.size(); ++at) {
    const int byte = escaped_byte(printed, at);
    name += byte < 0 ? printed[at] : static_cast<char>(byte);
    if (byte >= 0) at += 3;
  }
  return name;
}

}  // namespace headrace::inline v1
