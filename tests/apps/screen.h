#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace headrace::test {

/// What a terminal of that width shows after these bytes: enough of one for what a live block may
/// write.
class Screen {
 public:
  explicit Screen(std::size_t columns) : columns_(columns) {}

  void feed(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\x1b') {
        i = escape(text, i);
      } else if (text[i] == '\r') {
        column_ = 0;
      } else if (text[i] == '\n') {
        ++row_;
      } else {
        put(text[i]);
      }
    }
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> result = rows_;
    while (!result.empty() && result.back().empty())
      result.pop_back();
    return result;
  }
  std::size_t row() const { return row_; }
  std::size_t column() const { return column_; }
  std::size_t unknown_escapes() const { return unknown_; }
  bool wrapped() const { return wrapped_; }
  /// Times that it was erased from its first place on, which some terminals keep in their history.
  std::size_t erased_whole() const { return erased_whole_; }

 private:
  std::size_t escape(const std::string& text, std::size_t i) {
    std::size_t end = i + 2;
    while (end < text.size() && !std::isalpha(static_cast<unsigned char>(text[end])))
      ++end;
    const std::string body = text.substr(i + 2, end - i - 2);
    if (text[end] == 'K' && body == "2") {
      if (row_ < rows_.size()) rows_[row_].clear();
    } else if (text[end] == 'A') {
      row_ -= std::min<std::size_t>(row_, std::stoul(body));
    } else if (text[end] == 'J' && body.empty()) {
      if (row_ == 0 && column_ == 0) ++erased_whole_;
      if (row_ < rows_.size()) {
        rows_.resize(row_ + 1);
        rows_[row_].resize(std::min(rows_[row_].size(), column_));
      }
    } else {
      ++unknown_;
    }
    return end;
  }
  void put(char c) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80)
      return;  // the rest of a character counts no column
    if (column_ == columns_) {
      wrapped_ = true;
      column_ = 0;
      ++row_;
    }
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
    rows_[row_].resize(std::max(rows_[row_].size(), column_ + 1), ' ');
    rows_[row_][column_++] = c;
  }

  std::size_t columns_;
  std::vector<std::string> rows_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::size_t unknown_ = 0;
  std::size_t erased_whole_ = 0;
  bool wrapped_ = false;
};

}  // namespace headrace::test
