#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/printable.h>
#include <headrace/engine/base/utf8.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1::app {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 6> zero_width{{{0x0300, 0x036f},
                                           {0x200b, 0x200d},
                                           {0x2060, 0x2065},
                                           {0x206a, 0x206f},
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
  std::size_t bytes = 1;
  char32_t code = 0;  ///< 0 for a byte that is no UTF-8, too
};

Character first_character(std::string_view text) {
  const std::size_t bytes = utf8_sequence(text, 0);
  return bytes == 0 ? Character{} : Character{bytes, utf8_character(text.substr(0, bytes))};
}

std::size_t columns_of(const Character& c) {
  if (is_control(c.code)) return 1;
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

std::size_t width_of(std::string_view table) {
  std::size_t widest = 0;
  for (std::size_t first = 0; first < table.size();) {
    const std::size_t end = std::min(table.find('\n', first), table.size());
    widest = std::max(widest, text_width(table.substr(first, end - first)));
    first = end + 1;
  }
  return widest;
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
    if (is_control(c.code)) {
      result += '?';
    } else {
      result += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  if (cut && columns > 0) result += "…";
  return result;
}

std::string clean_message(std::string_view text) {
  constexpr int most_lines = 200;
  std::string result;
  for (int line = 0; line < most_lines; ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += printable(text.substr(0, end));
    if (end == text.size()) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
  return result + "...";
}

namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Takes from the word what fits into `columns`, one character at least.
std::string take_piece(std::string& word, std::size_t columns) {
  std::size_t fits = 0;
  for (std::size_t end = 1; end <= word.size(); ++end) {
    if (end < word.size() && !begins_character(word[end])) continue;
    if (fits > 0 && text_width(std::string_view(word).substr(0, end)) > columns) break;
    fits = end;
  }
  std::string piece = word.substr(0, fits);
  word.erase(0, fits);
  return piece;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(1, columns);
  const std::string clean = clean_text(text);
  std::vector<std::string> lines(1);
  for (std::size_t from = 0; from < clean.size();) {
    const std::size_t blank = std::min(clean.find(' ', from), clean.size());
    std::string word = clean.substr(from, blank - from);
    from = blank + 1;
    if (word.empty()) continue;
    std::string& line = lines.back();
    if (line.empty() || text_width(line) + 1 + text_width(word) > columns) {
      if (!line.empty()) lines.emplace_back();
      while (text_width(word) > columns) {
        lines.back() = take_piece(word, columns);
        if (!word.empty()) lines.emplace_back();
      }
      if (!word.empty()) lines.back() = word;
    } else {
      line += ' ' + word;
    }
  }
  return lines;
}

std::vector<std::string> folded(std::string_view line, std::size_t columns) {
  if (text_width(line) <= columns) return {std::string(line)};
  std::vector<std::string> lines(1);
  for (std::size_t from = 0; from < line.size();) {
    const std::size_t blank = std::min(line.find(' ', from), line.size());
    const std::string word(line.substr(from, blank - from));
    from = blank + 1;
    if (word.empty()) continue;
    std::string& last = lines.back();
    if (last.empty())
      last = word;
    else if (text_width(last) + 1 + text_width(word) <= columns)
      last += ' ' + word;
    else
      lines.push_back("  " + word);
  }
  return lines;
}

}  // namespace headrace::inline v1::app
