#include <headrace/apps/task/find_groups.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::array<std::string_view, 14> id_words{
    "patient", "pat",       "pt",     "subject", "subj",        "sub",   "person",
    "case",    "volunteer", "animal", "donor",   "participant", "mouse", "id"};
constexpr std::array<std::string_view, 23> part_words{
    "slice", "sl",     "frame", "view",    "image", "img",    "scan",   "visit",
    "study", "series", "crop",  "session", "ses",   "patch",  "tile",   "aug",
    "rot",   "time",   "z",     "t",       "shot",  "window", "segment"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> sides{{{"left", "right"},
                                                                              {"Left", "Right"},
                                                                              {"LEFT", "RIGHT"},
                                                                              {"l", "r"},
                                                                              {"L", "R"},
                                                                              {"od", "os"},
                                                                              {"OD", "OS"},
                                                                              {"le", "re"},
                                                                              {"LE", "RE"}}};
constexpr std::size_t longest_count = 4;  // digits of a number that counts and is no id
constexpr std::int64_t tried = 1000;      // names before all are

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, is_digit);
}

// A part of a name between separators, and where its letters end.
struct Word {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t letters_end = 0;
};

struct Suggestion {
  std::string pattern{};
  std::size_t least_groups = 3;
};
constexpr std::size_t least_unnamed = 10;  // groups, where no word says what a number is

class Name {
 public:
  explicit Name(const std::string& path) : text_(path.substr(path.rfind('/') + 1)) {
    for (std::size_t end = path.rfind('/'); end != std::string::npos && end > 0;) {
      const std::size_t slash = path.rfind('/', end - 1);
      folders_.push_back(path.substr(slash + 1, end - slash - 1));
      end = slash;
    }
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find_first_of("_-. ", begin), text_.size());
      std::size_t letters = begin;
      while (letters < end && !is_digit(text_[letters]))
        ++letters;
      words_.push_back({begin, end, letters});
      begin = end + 1;
    }
  }

  // Patterns that this name suggests, the surest first.
  std::vector<Suggestion> suggestions() const {
    std::vector<Suggestion> found;
    if (text_.find_first_of("*|<") != std::string::npos) return found;
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (is_id(i)) found.push_back({behind(i)});
    std::string in_folders = "<group>/*";
    for (const std::string& folder : folders_) {
      if (Name(folder).has_id()) found.push_back({in_folders});
      in_folders += "/*";
    }
    for (std::size_t i = 1; i < words_.size(); ++i)
      if (is_one_of(i, part_words) && is_numbered(i))
        found.push_back({"<group>" + before(i) + '*'});
    const std::string last = text(words_.size() - 1);
    if (words_.size() > 1) {
      const std::string separator = text_.substr(words_.back().begin - 1, 1);
      for (const auto& [one, other] : sides)
        if (last == one || last == other)
          found.push_back({fmt::format("<group>{0}{1}|<group>{0}{2}", separator, one, other)});
      if (!last.empty() && last.size() <= longest_count && std::ranges::all_of(last, is_digit) &&
          has_digit(text(words_.size() - 2)))
        found.push_back({before_count(), least_unnamed});
    }
    if (!folders_.empty() && has_digit(folders_[0]) && !Name(folders_[0]).is_one_of(0, part_words))
      found.push_back({"<group>/*", least_unnamed});
    return found;
  }

 private:
  std::string text(std::size_t word) const {
    return text_.substr(words_[word].begin, words_[word].end - words_[word].begin);
  }

  template <std::size_t Count>
  bool is_one_of(std::size_t word, const std::array<std::string_view, Count>& known) const {
    const auto& [begin, end, letters] = words_[word];
    return std::ranges::find(known, lower_case(text_.substr(begin, letters - begin))) !=
           known.end();
  }

  bool is_id(std::size_t word) const { return is_one_of(word, id_words) && is_numbered(word); }

  bool has_id() const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (is_id(i)) return true;
    return false;
  }

  // "_slice" of slice_3 and slice3, with what separates it.
  std::string before(std::size_t word) const {
    const auto& [begin, end, letters] = words_[word];
    return text_.substr(begin - 1, letters - begin + 1);
  }

  // "slice3", "slice_3".
  bool is_numbered(std::size_t word) const {
    const auto& [begin, end, letters] = words_[word];
    return letters < end || (word + 1 < words_.size() && has_digit(text(word + 1)));
  }

  // "patient_<group>_*" of patient_0007_slice_3.
  std::string behind(std::size_t word) const {
    const auto& [begin, end, letters] = words_[word];
    const bool own = letters < end;  // patient0007
    const std::size_t id_end = own ? end : words_[word + 1].end;
    const std::size_t first = begin == 0 ? 0 : begin - 1;
    std::string made = begin == 0 ? "" : "*";
    made += text_.substr(first, (own ? letters : end + 1) - first) + "<group>";
    if (id_end < text_.size()) made += text_.substr(id_end, 1) + "*";
    return made;
  }

  // "*-<group>-*" of CNV-1016042-1.
  std::string before_count() const {
    std::string made;
    for (std::size_t i = 0; i + 2 < words_.size(); ++i)
      made += '*' + text_.substr(words_[i].end, 1);
    return made + "<group>" + text_.substr(words_.back().begin - 1, 1) + '*';
  }

  std::string text_;
  std::vector<std::string> folders_{};  // the nearest first
  std::vector<Word> words_{};
};

// Whether a pattern fits names at this distance from each other.
bool fits(const GroupPattern& pattern, const RecordNames& names, std::int64_t step) {
  for (std::int64_t row = 0; row < names.size; row += step)
    if (pattern.group_of(names.at(row)).empty()) return false;
  return true;
}

// Whether the rest of the names, "_left", has one class each, and not more than there are classes.
bool rest_is_class(const GroupPattern& pattern, const RecordNames& names,
                   const std::vector<std::int64_t>& labels, std::size_t classes) {
  std::map<std::string, std::int64_t> class_of;
  for (std::int64_t row = 0; row < names.size; ++row) {
    const std::string name = names.at(row);
    const std::string_view group = pattern.group_of(name);
    const auto begin = static_cast<std::size_t>(group.data() - name.data());
    const std::size_t file = name.rfind('/') + 1;
    std::string rest =
        begin < file ? name.substr(file)
                     : name.substr(file, begin - file) + '/' + name.substr(begin + group.size());
    const std::int64_t label = labels[static_cast<std::size_t>(row)];
    if (class_of.try_emplace(std::move(rest), label).first->second != label) return false;
    if (class_of.size() > classes) return false;
  }
  return true;
}

}  // namespace

std::string describe_groups(const RecordGroups& groups, const RecordNames& names,
                            std::size_t least) {
  std::vector<std::int64_t> sizes(groups.names.size(), 0);
  for (const std::int64_t group : groups.numbers)
    ++sizes[static_cast<std::size_t>(group)];
  std::int64_t sharing = 0;
  for (const std::int64_t size : sizes)
    if (size > 1) sharing += size;
  if (sizes.size() < least || 2 * sharing < names.size) return "";
  const auto largest = std::ranges::max_element(sizes) - sizes.begin();
  std::vector<std::string> of_it;
  for (std::int64_t row = 0; row < names.size && of_it.size() < 2; ++row)
    if (groups.numbers[static_cast<std::size_t>(row)] == largest)
      of_it.push_back(printable(names.at(row), 100));
  return fmt::format("{} names are of {} groups, up to {} of one: \"{}\" and \"{}\" are of \"{}\"",
                     names.size, sizes.size(), sizes[static_cast<std::size_t>(largest)], of_it[0],
                     of_it[1], printable(groups.names[static_cast<std::size_t>(largest)], 100));
}

std::optional<FoundGroups> find_groups(const RecordNames& names,
                                       const std::vector<std::int64_t>& labels) {
  if (names.size == 0) return std::nullopt;
  const std::set<std::int64_t> classes(labels.begin(), labels.end());
  const std::int64_t step = std::max<std::int64_t>(1, names.size / tried);
  for (const auto& [text, least] : Name(names.at(names.size / 2)).suggestions()) {
    const GroupPattern pattern(text);
    if (!fits(pattern, names, step) || !fits(pattern, names, 1)) continue;
    FoundGroups found{.pattern = text, .groups = groups_by_name(text, names)};
    found.reason = describe_groups(found.groups, names, std::max(least, classes.size() + 1));
    if (found.reason.empty()) continue;
    if (classes.size() > 1 && rest_is_class(pattern, names, labels, classes.size())) continue;
    return found;
  }
  return std::nullopt;
}

bool can_divide(const RecordGroups& groups, const std::vector<std::int64_t>& labels,
                const SplitSettings& split) {
  SplitRecords records{.size = std::ssize(groups.numbers), .groups = groups.numbers};
  for (const std::int64_t label : labels)
    records.classes.push_back({label});
  const std::size_t classes = std::set<std::int64_t>(labels.begin(), labels.end()).size();
  try {
    for (const SplitParts& member : split_records(std::move(records), split, 0)) {
      std::set<std::int64_t> learnt;
      for (const std::int64_t row : member.train)
        if (!labels.empty()) learnt.insert(labels[static_cast<std::size_t>(row)]);
      if (learnt.size() != classes) return false;
    }
  } catch (const DataError&) {
    return false;
  }
  return true;
}

}  // namespace headrace::inline v1::app
