#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace headrace::inline v1::app {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 6> zero_width{{{0x0300, 0x036f},
                                           {0x200b, 0x200f},
                                           {0x202a, 0x202e},
                                           {0x2060, 0x2069},
                                           {0xfe00, 0xfe0f},
                                           {0xfeff, 0xfeff}}};

constexpr std::array<Range, 9> double_width{{{0x1100, 0x115f},
                                             {0x2e80, 0x303e},
                                             {0x3041, 0xa4cf},
                                             {0xac00, 0xd7a3},
                                             {0xf900, 0xfaff},
                                             {0xfe30, 0xfe6f},
                                             {0xff00, 0xff60},
                                             {0x1f300, 0x1faff},
                                             {0x20000, 0x3fffd}}};

template <std::size_t Count>
bool within(const std::array<Range, Count>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& r) { return c >= r.first && c <= r.last; });
}

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte & 0x3fu);
  }
  return {code, length, true};
}

bool is_control(const Character& c) {
  return !c.valid || c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0) || c.code == 0x2028 ||
         c.code == 0x2029;
}

std::size_t columns_of(const Character& c) {
  if (is_control(c)) return 1;
  if (within(zero_width, c.code)) return 0;
  return within(double_width, c.code) ? 2 : 1;
}

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    width += columns_of(c);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string clean_text(std::string_view text, std::size_t columns) {
  const bool cut = text_width(text) > columns;
  const std::size_t room = cut && columns > 0 ? columns - 1 : columns;
  std::string result;
  std::size_t width = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (width + columns_of(c) > room) break;
    width += columns_of(c);
    if (is_control(c)) {
      result += '?';
    } else {
      result += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  if (cut && columns > 0) result += "…";
  return result;
}

}  // namespace headrace::inline v1::app
