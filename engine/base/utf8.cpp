#include <headrace/engine/base/utf8.h>

namespace headrace::inline v1 {

std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((static_cast<unsigned char>(text[at + k]) & 0xc0) != 0x80) return 0;
  const auto second = length > 2 ? static_cast<unsigned char>(text[at + 1]) : 0;
  const bool outside = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                       (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return outside ? 0 : length;
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

char32_t utf8_character(std::string_view sequence) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  char32_t character = byte(0) & (0x7fU >> sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i)
    character = character << 6 | (byte(i) & 0x3fU);
  return character;
}

bool is_control(char32_t character) noexcept {
  const auto within = [character](char32_t first, char32_t last) {
    return character >= first && character <= last;
  };
  return character < 0x20 || within(0x7f, 0x9f) || character == 0x61c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069);
}

}  // namespace headrace::inline v1
