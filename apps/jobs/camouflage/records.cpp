#include <headrace/apps/jobs/camouflage/cod_name.h>
#include <headrace/apps/jobs/camouflage/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_source.h>
#include <headrace/loaders/image/mask_survey.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int least_of_object = 128;

using Rows = std::vector<std::int64_t>;

void keep_camouflaged(Rows& rows, const LabelledSource& source) {
  std::erase_if(rows, [&](std::int64_t row) { return !cod_name_of(source.origin(row)).camouflaged; });
}

// Each super-class in the same share of every part.
std::vector<SplitParts> divided(const Rows& rows, const LabelledSource& source,
                                const SplitSettings& split, std::uint64_t seed) {
  SplitRecords records{.size = static_cast<std::int64_t>(rows.size())};
  const std::vector<std::int64_t> groups = source.groups();
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

void require_some(const Rows& rows, const LabelledSource& source, const char* section) {
  if (!rows.empty()) return;
  throw DataError(fmt::format(
      "[data] {}: {} must have a picture of something camouflaged, all say NonCAM; set pictures: "
      "all, or name another folder",
      source.name(), section));
}

}  // namespace

MaskFeed object_mask() {
  MapMask map;
  for (int value = 0; value < 256; ++value)
    map.values.push_back({.value = static_cast<std::uint16_t>(value),
                          .label = static_cast<std::uint8_t>(value >= least_of_object ? 1 : 0)});
  return {.map = map};
}

TaskRecords camouflage_records(const CamouflageConfig& config) {
  const TaskData& data = config.task.data;
  TaskRecords records = open_records(data, true, config.seed);
  const LabelledSource& train = *records.train.source;
  const bool filters = config.pictures == CodPictures::camouflaged;
  if (train.splits().empty()) {
    Rows rows = all_rows(train);
    if (filters) keep_camouflaged(rows, train);
    require_some(rows, train, "data.train");
    SplitSettings split = data.split;
    if (data.validation.is_given()) split.validation = 0.0;
    if (data.test.is_given()) split.test = 0.0;
    std::vector<SplitParts> members = divided(rows, train, split, config.seed);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (data.validation.is_given())
        members[i].validation = std::move(records.members[i].validation);
      if (data.test.is_given()) members[i].test = std::move(records.members[i].test);
    }
    records.members = std::move(members);
  }
  if (!filters) return records;
  for (SplitParts& member : records.members) {
    keep_camouflaged(member.train, train);
    keep_camouflaged(member.validation, *records.validation.source);
    keep_camouflaged(member.test, *records.test.source);
    require_some(member.train, train, "data.train");
    if (data.validation.is_given())
      require_some(member.validation, *records.validation.source, "data.validation");
    if (data.test.is_given()) require_some(member.test, *records.test.source, "data.test");
  }
  return records;
}

void require_objects(const TaskRecords& records) {
  std::set<const LabelledSource*> seen;
  for (const auto& source :
       {records.train.source, records.validation.source, records.test.source}) {
    if (!seen.insert(source.get()).second) continue;
    const MaskSurvey survey = survey_masks(dynamic_cast<const ImageSource&>(*source));
    if (survey.values.empty()) continue;
    const int largest = survey.values.rbegin()->first;
    if (largest == 0 || largest >= least_of_object) continue;
    throw DataError(fmt::format(
        "[data] {}: masks must hold {} or more where the object is (255, as COD10K has it), the "
        "largest of {} masks is {}; write them so, or take kind: segmentation, whose section mask "
        "says what values mean",
        source->name(), least_of_object, survey.files, largest));
  }
}

}  // namespace headrace::inline v1::app
