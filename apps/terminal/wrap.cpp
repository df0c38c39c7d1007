#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/terminal/wrap.h>

#include <algorithm>

namespace headrace::inline v1::app {
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
