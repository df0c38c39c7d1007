#include <headrace/engine/base/utf8.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>
#include <headrace/loaders/listing/detail/missing_file.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_but_capitals(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, small, small);
}

/// Whether letters and their marks are characters of their own, U+0300 to U+036F.
bool is_decomposed(std::string_view text) {
  return text.find('\xcc') != std::string_view::npos || text.find('\xcd') != std::string_view::npos;
}

/// What of a name is the same however its letters are written.
std::string plain_part(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte == 0xcc || byte == 0xcd) && !plain.empty()) plain.pop_back();
    if (byte < 0x80) plain += c;
  }
  return plain;
}

bool same_but_letters(std::string_view a, std::string_view b) {
  const bool otherwise = is_utf8(a) != is_utf8(b) || is_decomposed(a) != is_decomposed(b);
  return otherwise && plain_part(a) == plain_part(b);
}

/// Of an entry that is like the name.
std::optional<std::string> likeness(std::string_view entry, std::string_view name) {
  const std::string meant = "; did you mean " + quoted(entry) + "? ";
  if (same_but_capitals(entry, name)) return meant + "Capitals count";
  if (entry.starts_with(std::string(name) + ".")) return meant + "Names have their extension";
  if (same_but_letters(entry, name))
    return meant +
           "Its letters are other bytes (composed otherwise, or in another encoding); rename it, "
           "or write its own bytes";
  return std::nullopt;
}

}  // namespace

std::string spelled_here(std::string_view path) {
  std::string spelled(trimmed(path));
  std::ranges::replace(spelled, '\\', '/');
  return spelled;
}

std::string why_missing(const std::string& root, std::string_view path) {
  if (path.size() > 1 && path[1] == ':')
    return "; write the path below the folder of all, without its drive";
  std::string folder = root;
  for (;;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    const std::string here = folder + "/" + std::string(name);
    std::error_code failed;
    if (!fs::exists(here, failed)) {
      try {
        for (const FolderEntry& entry : folder_entries(folder))
          if (auto like = likeness(entry.name, name)) return std::move(*like);
      } catch (const fs::filesystem_error&) {
      }
      return {};
    }
    if (end == path.size()) return {};
    folder = here;
    path.remove_prefix(end + 1);
  }
}

}  // namespace headrace::inline v1::detail
