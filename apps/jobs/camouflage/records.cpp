#include <headrace/apps/jobs/camouflage/object_mask.h>
#include <headrace/apps/jobs/camouflage/records.h>
#include <headrace/apps/task/name_groups.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

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

namespace {

constexpr int least_of_object = 128;
constexpr std::size_t most_masks = 200;

using Rows = std::vector<std::int64_t>;

// Each super-class in the same share of every part.
std::vector<SplitParts> divided(const Rows& rows, const TaskRecords& of, const SplitSettings& split,
                                std::uint64_t seed) {
  SplitRecords records{.size = static_cast<std::int64_t>(rows.size())};
  const LabelledSource& source = *of.train.source;
  const std::vector<std::int64_t>& groups = of.groups;
  std::map<std::string, std::int64_t> numbers;
  for (const std::int64_t row : rows) {
    const std::string kind = cod_name_of(source.origin(row)).super_class;
    const auto number = static_cast<std::int64_t>(numbers.size());
    records.classes.push_back({numbers.try_emplace(kind, number).first->second});
    if (!groups.empty()) records.groups.push_back(groups[static_cast<std::size_t>(row)]);
  }
  std::vector<SplitParts> members = split_records(records, split, seed);
  for (SplitParts& member : members)
    for (Rows* part : {&member.train, &member.validation, &member.test})
      for (std::int64_t& row : *part)
        row = rows[static_cast<std::size_t>(row)];
  return members;
}

}  // namespace

MaskFeed object_mask() {
  MapMask map;
  for (int value = 0; value < 256; ++value)
    map.values.push_back({.value = static_cast<std::uint16_t>(value),
                          .label = static_cast<std::uint8_t>(value >= least_of_object ? 1 : 0)});
  return {.map = map};
}

std::vector<std::int64_t> wanted_pictures(const CamouflageConfig& config,
                                          const LabelledSource& source,
                                          std::vector<std::int64_t> rows, const char* section) {
  if (config.pictures == CodPictures::camouflaged)
    std::erase_if(rows,
                  [&](std::int64_t row) { return !cod_name_of(source.origin(row)).camouflaged; });
  if (!rows.empty()) return rows;
  throw DataError(fmt::format(
      "[data] {}: {} must have a picture of something camouflaged, all say NonCAM; set pictures: "
      "all, or name another folder",
      source.name(), section));
}

TaskRecords camouflage_records(const CamouflageConfig& config) {
  const TaskData& data = config.task.data;
  TaskRecords records = open_records(data, true, config.seed);
  const LabelledSource& train = *records.train.source;
  if (train.splits().empty()) {
    SplitSettings split = data.split;
    if (data.validation.is_given()) split.validation = 0.0;
    if (data.test.is_given()) split.test = 0.0;
    std::vector<SplitParts> members = divided(
        wanted_pictures(config, train, all_rows(train), "data.train"), records, split, config.seed);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (data.validation.is_given())
        members[i].validation = std::move(records.members[i].validation);
      if (data.test.is_given()) members[i].test = std::move(records.members[i].test);
    }
    records.members = std::move(members);
  }
  for (SplitParts& member : records.members) {
    const auto keep = [&](Rows& rows, const RecordSet& set, const char* section) {
      if (!rows.empty()) rows = wanted_pictures(config, *set.source, std::move(rows), section);
    };
    keep(member.train, records.train, "data.train");
    keep(member.validation, records.validation, "data.validation");
    keep(member.test, records.test, "data.test");
  }
  return records;
}

void require_objects(const LabelledSource& source) {
  for (const std::int64_t row : evenly_spread(all_rows(source), most_masks)) {
    const int largest = largest_of_mask(source, row);
    if (largest == 0 || largest >= least_of_object) continue;
    throw DataError(fmt::format(
        "[data] {}: a mask must hold {} or more where the object is (255, as COD10K has it), the "
        "largest of {} is {}; write them so, or take kind: segmentation, whose section mask says "
        "what values mean",
        source.name(), least_of_object, source.origin(row), largest));
  }
}

}  // namespace headrace::inline v1::app
