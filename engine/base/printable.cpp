#include <headrace/engine/base/printable.h>
#include <headrace/engine/base/utf8.h>

#include <algorithm>
#include <cstdio>

namespace headrace::inline v1 {
namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(byte));
    out += escaped;
  }
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

}  // namespace headrace::inline v1
