#include <headrace/apps/jobs/camouflage/cod_name.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace headrace::inline v1::app {
namespace {

std::string_view stem_of(std::string_view path) {
  path.remove_prefix(path.find_last_of('/') + 1);
  return path.substr(0, path.find_last_of('.'));
}

/// Spaces around a word are left out: some copies have "1- Aquatic".
std::string_view trimmed(std::string_view word) {
  while (word.starts_with(' '))
    word.remove_prefix(1);
  while (word.ends_with(' '))
    word.remove_suffix(1);
  return word;
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    words.push_back(trimmed(name.substr(begin, end - begin)));
    begin = end + 1;
  }
  return words;
}

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

}  // namespace

CodName cod_name_of(std::string_view path) {
  const std::string_view stem = stem_of(path);
  if (stem.starts_with("camourflage_") || stem.starts_with("camouflage_"))
    return {.super_class = "CAMO"};
  const std::vector<std::string_view> words = words_of(stem);
  const bool known = words.size() >= 4 && words[0] == "COD10K" &&
                     (words[1] == "CAM" || words[1] == "NonCAM") && is_number(words[2]) &&
                     !words[3].empty();
  if (!known) return {.super_class = "other"};
  CodName name{.camouflaged = words[1] == "CAM", .super_class = std::string(words[3])};
  if (words.size() >= 6 && is_number(words[4]) && !is_number(words[5]))
    name.sub_class = std::string(words[5]);
  return name;
}

}  // namespace headrace::inline v1::app
