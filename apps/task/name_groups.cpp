#include <headrace/apps/task/name_groups.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::string_view group_mark = "<group>";
constexpr std::size_t longest_name = 200;

// Of a path what comes behind all but the last few of its "/"; empty where it has fewer.
std::string_view last_folders(std::string_view path, std::size_t folders) {
  std::size_t begin = path.size();
  for (std::size_t i = 0; i <= folders; ++i) {
    if (begin == 0) return {};
    const std::size_t slash = path.rfind('/', begin - 1);
    begin = slash == std::string_view::npos ? 0 : slash;
  }
  return path.substr(begin + (path[begin] == '/' ? 1 : 0));
}

std::string without_ending(std::string path) {
  const std::size_t dot = path.rfind('.');
  const std::size_t file = path.rfind('/') + 1;
  if (dot != std::string::npos && dot > file) path.resize(dot);
  return path;
}

void check_group_pattern(const TaskData& data) {
  const GroupPattern known(data.split.group);
  for (const auto& [name, set] :
       {std::pair("train", &data.train), std::pair("validation", &data.validation),
        std::pair("test", &data.test)}) {
    if (!set->is_given()) continue;
    if (!has_names(*set))
      throw ConfigError(fmt::format(
          "[config] data.split.group is a pattern over names (\"{}\"), but records of data.{} are "
          "rows of {} and have none; name groups by data.{}.groups",
          data.split.group, name, set->file.string(), name));
    if (!set->columns.group.empty())
      throw ConfigError(fmt::format(
          "[config] data.split.group (\"{}\") and data.{}.columns.group (\"{}\") both say what "
          "a group is; leave one out",
          data.split.group, name, set->columns.group));
  }
}

}  // namespace

bool has_names(const DataSet& set) {
  return set.source != RecordsIn::hdf5 &&
         (set.source != RecordsIn::npy || !set.folder.empty() || is_list(set.file));
}

bool is_group_pattern(const std::string& group) {
  return group.find(group_mark) != std::string::npos;
}

GroupPattern::GroupPattern(const std::string& pattern) {
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('|', begin), pattern.size());
    alternatives_.push_back(parse(pattern.substr(begin, end - begin), pattern));
    begin = end + 1;
  }
}

GroupPattern::Alternative GroupPattern::parse(const std::string& text, const std::string& pattern) {
  const auto refuse = [&](const char* rule) {
    throw ConfigError(fmt::format("[config] data.split.group must have {}, got \"{}\" in \"{}\"",
                                  rule, printable(text, longest_name),
                                  printable(pattern, longest_name)));
  };
  Alternative made{.words = {""},
                   .folders = static_cast<std::size_t>(std::ranges::count(text, '/'))};
  std::size_t groups = 0;
  for (std::size_t i = 0; i < text.size();) {
    const bool group = text.compare(i, group_mark.size(), group_mark) == 0;
    if (!group && text[i] != '*') {
      made.words.back() += text[i++];
      continue;
    }
    if (group) {
      ++groups;
      made.group = made.words.size() - 1;
    }
    if (made.words.size() > 1 && made.words.back().empty())
      refuse("something between <group> and *");
    made.words.emplace_back();
    i += group ? group_mark.size() : 1;
  }
  if (groups != 1) refuse("<group> once in what stands between \"|\"");
  return made;
}

// The leftmost place for each word but the last leaves most for the others, so that nothing need be
// tried twice.
std::string_view GroupPattern::match(const Alternative& one, std::string_view name) {
  const std::string& last = one.words.back();
  if (!name.starts_with(one.words.front())) return {};
  std::size_t place = one.words.front().size();
  std::string_view group;
  for (std::size_t wild = 0; wild + 1 < one.words.size(); ++wild) {
    const std::string& word = one.words[wild + 1];
    const std::size_t least = place + (wild == one.group ? 1 : 0);
    const bool at_end = wild + 2 == one.words.size();
    if (at_end && (name.size() < least + last.size() || !name.ends_with(last))) return {};
    const std::size_t found = at_end ? name.size() - last.size() : name.find(word, least);
    if (found == std::string_view::npos) return {};
    if (wild == one.group) group = name.substr(place, found - place);
    place = found + word.size();
  }
  return group;
}

std::string_view GroupPattern::group_of(std::string_view name) const {
  for (const Alternative& one : alternatives_)
    if (const std::string_view group = match(one, last_folders(name, one.folders)); !group.empty())
      return group;
  return {};
}

void check_groups(const TaskData& data) {
  const bool list = data.train.source == RecordsIn::manifest ||
                    (data.train.source == RecordsIn::npy && is_list(data.train.file));
  if (is_group_pattern(data.split.group)) return check_group_pattern(data);
  if (data.split.group.empty() || list) return;
  throw ConfigError(fmt::format(
      "[config] data.split.group names a column (\"{}\"), so data.train must be a {}",
      data.split.group,
      has_names(data.train)
          ? "manifest; name one, or a pattern over names, as \"<group>_left|<group>_right\" "
            "(docs/image-data.md)"
          : "list of files; name groups by data.train.groups"));
}

ManifestColumns columns_of(const DataSet& set, const SplitSettings& split) {
  ManifestColumns columns = set.columns;
  if (columns.group.empty() && !is_group_pattern(split.group)) columns.group = split.group;
  return columns;
}

RecordNames record_names(const LabelledSource& source) {
  return {.source = source.name(), .size = source.size(), .at = [&source](std::int64_t row) {
            return without_ending(source.origin(row));
          }};
}

RecordGroups groups_by_name(const std::string& pattern, const RecordNames& names) {
  const GroupPattern groups(pattern);
  std::unordered_map<std::string, std::int64_t> numbers;
  RecordGroups made;
  made.numbers.reserve(static_cast<std::size_t>(names.size));
  std::int64_t others = 0;
  std::string other;
  for (std::int64_t row = 0; row < names.size; ++row) {
    const std::string name = names.at(row);
    const std::string_view group = groups.group_of(name);
    if (group.empty() && others++ == 0) other = name;
    const auto next = static_cast<std::int64_t>(numbers.size());
    made.numbers.push_back(numbers.try_emplace(std::string(group), next).first->second);
  }
  if (others > 0)
    throw DataError(fmt::format(
        "[data] {}: every name must fit data.split.group, \"{}\", but {} of {} do not, \"{}\" for "
        "one; add what they look like behind a \"|\", \"|<group>\" where each is its own group, or "
        "take no "
        "pattern (data.split.group=\"\")",
        names.source, printable(pattern, longest_name), others, names.size,
        printable(other, longest_name)));
  made.names.resize(numbers.size());
  for (const auto& [name, number] : numbers)
    made.names[static_cast<std::size_t>(number)] = name;
  return made;
}

RecordGroups groups_of(const LabelledSource& source, const SplitSettings& split) {
  if (is_group_pattern(split.group)) return groups_by_name(split.group, record_names(source));
  return {.numbers = source.groups(), .names = source.group_names()};
}

SharedGroups shared_groups(const RecordGroups& a, const RecordGroups& b) {
  const std::unordered_set<std::string_view> known(b.names.begin(), b.names.end());
  SharedGroups shared;
  for (const std::string& name : a.names)
    if (known.contains(name) && shared.count++ == 0) shared.example = name;
  return shared;
}

SharedGroups divided_groups(const RecordGroups& groups, const std::vector<DataSplit>& sides) {
  if (sides.empty()) return {};
  std::vector<std::optional<DataSplit>> side_of(groups.names.size());
  std::vector<bool> known(groups.names.size(), false);
  SharedGroups divided;
  for (std::size_t row = 0; row < groups.numbers.size(); ++row) {
    const auto group = static_cast<std::size_t>(groups.numbers[row]);
    if (!side_of[group]) side_of[group] = sides[row];
    if (side_of[group] == sides[row] || known[group]) continue;
    known[group] = true;
    if (divided.count++ == 0) divided.example = groups.names[group];
  }
  return divided;
}

void require_other_groups(const RecordGroups& part, const RecordGroups& train,
                          const std::string& section) {
  const SharedGroups shared = shared_groups(part, train);
  if (shared.count == 0) return;
  throw DataError(fmt::format(
      "[data] {}: must have other groups than data.train, but {} of its {} are in both, \"{}\" for "
      "one; take their records out of one of them",
      section, shared.count, part.names.size(), printable(shared.example, longest_name)));
}

}  // namespace headrace::inline v1::app
