#include <headrace/loaders/volume/detail/tiff/natural_order.h>

namespace headrace::inline v1::detail {
namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Takes the digits that a name begins with, without zeros before them.
std::string_view take_number(std::string_view& text) noexcept {
  std::size_t zeros = 0;
  while (zeros < text.size() && text[zeros] == '0')
    ++zeros;
  std::size_t end = zeros;
  while (end < text.size() && is_digit(text[end]))
    ++end;
  const std::string_view number = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return number;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) noexcept {
  std::string_view left = a, right = b;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const std::string_view one = take_number(left), other = take_number(right);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      continue;
    }
    if (left.front() != right.front())
      return static_cast<unsigned char>(left.front()) < static_cast<unsigned char>(right.front());
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  if (left.empty() != right.empty()) return left.empty();
  return a < b;
}

}  // namespace headrace::inline v1::detail
