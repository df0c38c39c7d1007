#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

using Images = std::shared_ptr<const ImageSource>;

void require_same_classes(const Images& part, const Images& train, const char* section) {
  if (part->classes() == train->classes()) return;
  throw DataError(fmt::format(
      "[data] {}: must have the classes of data.train ({}), got {}; give both the same classes",
      section, fmt::join(train->classes(), ", "), fmt::join(part->classes(), ", ")));
}

SplitRecords split_view(const ImageSource& source) {
  SplitRecords records{.size = source.size(), .groups = source.groups()};
  if (source.classes().empty()) return records;
  for (std::int64_t i = 0; i < source.size(); ++i)
    records.classes.push_back(source.label_set(i));
  return records;
}

// As a column of the manifest says, or by shares.
std::vector<SplitParts> members_of(const ImageSource& source, const TaskData& data,
                                   std::uint64_t seed) {
  const std::vector<DataSplit> said = source.splits();
  SplitSettings split = data.split;
  if (data.validation.is_given()) split.validation = 0.0;
  if (data.test.is_given()) split.test = 0.0;
  if (said.empty()) return split_records(split_view(source), split, seed);
  if (split.folds > 0 || data.validation.is_given() || data.test.is_given())
    throw ConfigError(fmt::format(
        "[config] data.split.folds, data.validation and data.test: {} says in a column what every "
        "record is for; leave them out, or the column",
        source.name()));
  SplitParts parts;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const DataSplit one = said[static_cast<std::size_t>(i)];
    (one == DataSplit::train        ? parts.train
     : one == DataSplit::validation ? parts.validation
                                    : parts.test)
        .push_back(i);
  }
  if (parts.train.empty())
    throw DataError(fmt::format("[data] {}: a record must be to train on, none is", source.name()));
  return {parts};
}

std::vector<std::int64_t> all_rows(const ImageSource& source) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(source.size()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

void require_every_class(const ImageSource& source, const SplitParts& member) {
  const std::vector<std::int64_t> counts = count_classes(source, member.train);
  const auto none = std::find(counts.begin(), counts.end(), 0);
  if (none == counts.end()) return;
  throw DataError(fmt::format(
      "[data] {}: every class must have a record to train on, \"{}\" has none; give it more "
      "records, or leave it out",
      source.name(), source.classes()[static_cast<std::size_t>(none - counts.begin())]));
}

}  // namespace

Images open_set(const DataSet& set, const TaskData& data, const std::string& section, bool masks,
                const std::vector<std::string>& classes) {
  ImageData where = image_data_of(set, data, section);
  if (!masks) where.classes = classes;
  Images images = open_image_data(where);
  if (masks && !images->has_masks())
    throw DataError(fmt::format(
        "[data] {}: must have a mask for every picture, has none; name a folder of masks "
        "({}.masks), or give the manifest a column \"mask\"",
        images->name(), section));
  if (!masks && images->classes().empty())
    throw DataError(fmt::format(
        "[data] {}: must have a class for every picture, has none; give the manifest a column "
        "\"label\", or make a folder for each class",
        images->name()));
  return images;
}

std::vector<std::int64_t> labels_at(const ImageSource& source,
                                    const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> labels;
  labels.reserve(rows.size());
  for (const std::int64_t row : rows)
    labels.push_back(source.label(row));
  return labels;
}

std::vector<std::int64_t> count_classes(const ImageSource& source,
                                        const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> counts(source.classes().size(), 0);
  if (counts.empty()) return counts;
  for (const std::int64_t row : rows)
    for (const std::int64_t label : source.label_set(row))
      ++counts[static_cast<std::size_t>(label)];
  return counts;
}

TaskRecords open_records(const TaskData& data, bool masks, std::uint64_t seed) {
  TaskRecords records;
  records.train = open_set(data.train, data, "data.train", masks);
  const auto part = [&](const DataSet& set, const char* section) {
    if (!set.is_given()) return records.train;
    Images own = open_set(set, data, section, masks, records.train->classes());
    if (!masks) require_same_classes(own, records.train, section);
    return own;
  };
  records.validation = part(data.validation, "data.validation");
  records.test = part(data.test, "data.test");

  records.members = members_of(*records.train, data, seed);
  for (SplitParts& member : records.members) {
    if (!masks) require_every_class(*records.train, member);
    if (data.validation.is_given()) member.validation = all_rows(*records.validation);
    if (data.test.is_given()) member.test = all_rows(*records.test);
  }
  return records;
}

}  // namespace headrace::inline v1::app
