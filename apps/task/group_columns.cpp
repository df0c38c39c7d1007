#include <headrace/apps/task/group_columns.h>
#include <headrace/loaders/listing/manifest_columns.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr std::array<std::string_view, 10> owners{"group",  "patient", "subject", "participant",
                                                  "person", "speaker", "donor",   "animal",
                                                  "lesion", "case"};
constexpr std::size_t persons = 7;  // the others are labels, too, unless they have a number
constexpr std::array<std::string_view, 5> endings{"ids", "id", "number", "no", "nr"};

// Its letters alone, small.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char one : name)
    if ((one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z'))
      letters += static_cast<char>(one | 0x20);
  return letters;
}

}  // namespace

std::optional<std::size_t> group_rank(std::string_view name) {
  const std::string letters = letters_of(name);
  for (std::size_t rank = 0; rank < owners.size(); ++rank) {
    if (!letters.starts_with(owners[rank])) continue;
    const std::string_view rest = std::string_view(letters).substr(owners[rank].size());
    const bool bare = rest.empty() || rest == "s";
    if (bare ? rank < persons : std::ranges::find(endings, rest) != endings.end()) return rank;
  }
  return std::nullopt;
}

std::vector<std::string> group_columns(const DataSet& set) {
  if (!is_list(set.file)) return {};
  const ManifestColumns& used = set.columns;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (std::string& name : column_names(set.file)) {
    const bool other = name == used.path || name == used.mask || name == used.label ||
                       std::ranges::find(used.labels, name) != used.labels.end();
    if (const auto rank = group_rank(name); rank && !other)
      found.emplace_back(*rank, std::move(name));
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> names;
  for (auto& [rank, name] : found)
    names.push_back(std::move(name));
  return names;
}

}  // namespace headrace::inline v1::app
