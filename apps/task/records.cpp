#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/class_remarks.h>
#include <headrace/apps/task/name_groups.h>
#include <headrace/apps/task/named_place.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

using Labelled = std::shared_ptr<const LabelledSource>;

// The first few of them.
std::string names_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20, longest = 60;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == most) return text + fmt::format(" and {} more", names.size() - i);
    text += (i == 0 ? "" : ", ") + printable(names[i], longest);
  }
  return text;
}

void require_same_classes(const Labelled& part, const Labelled& train, const char* section) {
  if (part->classes() == train->classes()) return;
  throw DataError(fmt::format(
      "[data] {}: must have the classes of data.train ({}), got {}; give both the same classes",
      section, names_of(train->classes()), names_of(part->classes())));
}

void require_two_classes(const LabelledSource& train) {
  if (train.classes().size() > 1 || train.multi_label()) return;
  throw DataError(fmt::format(
      "[data] {}: must have at least two classes to tell apart, got one, \"{}\"; name the column "
      "of the labels (data.train.columns.label), or the folder above the class folders",
      train.name(), printable(train.classes().front(), 200)));
}

const std::filesystem::path& place_of(const DataSet& set) {
  return set.file.empty() ? set.folder : set.file;
}

// What is judged must not be what was learnt.
void require_other_place(const DataSet& set, const DataSet& train, const char* section) {
  std::error_code failed;
  const auto dataset = [](const DataSet& one) {
    return one.data.starts_with('/') ? one.data.substr(1) : one.data;
  };
  if (dataset(set) != dataset(train)) return;  // others of one file
  if (!std::filesystem::equivalent(place_of(set), place_of(train), failed)) return;
  throw ConfigError(fmt::format(
      "[config] {0}: must be other records than data.train, both are {1}; leave {0} out to set "
      "a share of them apart (data.split), or give the list a column \"split\"",
      section, place_of(set).native()));
}

SplitRecords split_view(const LabelledSource& source, const RecordGroups& groups) {
  SplitRecords records{.size = source.size(), .groups = groups.numbers};
  if (source.classes().empty()) return records;
  for (std::int64_t i = 0; i < source.size(); ++i)
    records.classes.push_back(source.label_set(i));
  return records;
}

void require_whole(const RecordGroups& groups, const LabelledSource& source) {
  if (const SharedGroups divided = divided_groups(groups, source.splits()); divided.count > 0)
    throw DataError(fmt::format(
        "[data] {}: its column \"split\" must keep groups whole (data.split.group), but "
        "divides {} of {}, \"{}\" for one; correct it, or leave one of them out",
        source.name(), divided.count, groups.names.size(), printable(divided.example, 200)));
}

// As a column of the manifest says, or by shares.
std::vector<SplitParts> members_of(const LabelledSource& source, SplitRecords view,
                                   const TaskData& data, std::uint64_t seed) {
  const std::vector<DataSplit> said = source.splits();
  SplitSettings split = data.split;
  if (data.validation.is_given()) split.validation = 0.0;
  if (data.test.is_given()) split.test = 0.0;
  if (said.empty()) return split_records(std::move(view), split, seed);
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

void require_same_labels(const LabelledSource& part, const LabelledSource& train,
                         const char* section) {
  if (part.multi_label() == train.multi_label()) return;
  const auto several = [](const LabelledSource& one) {
    return one.multi_label() ? "any number of classes a record" : "one class a record";
  };
  throw ConfigError(fmt::format("[config] {}: must have {} as data.train, got {} ({}.multi_label)",
                                section, several(train), several(part), section));
}

// Networks have one input.
void require_same_fields(const Labelled& part, const Labelled& train, const char* section) {
  const FieldSpec own = part->fields()[0];
  const FieldSpec wanted = train->fields()[0];
  const auto rank = [](const FieldSpec& one) { return without_last_channel(one.shape).rank(); };
  if (own.dtype == wanted.dtype && rank(own) == rank(wanted)) return;
  throw ConfigError(fmt::format("[data] {}: must have records as data.train, {}, got {} in {}",
                                section, to_string(wanted), to_string(own), part->name()));
}

Labelled open_pictures_of(const DataSet& set, const TaskData& data, const std::string& section,
                          bool masks, const std::vector<std::string>& classes) {
  ImageData where = image_data_of(set, data, section);
  if (!masks) where.classes = classes;
  std::shared_ptr<const ImageSource> images = open_image_data(where);
  if (masks && !images->has_masks())
    throw DataError(fmt::format(
        "[data] {}: must have a mask for every picture, has none; name a folder of masks "
        "({}.masks), or give the manifest a column \"mask\"",
        images->name(), section));
  if (images->origin(0).ends_with(".npy"))
    throw ConfigError(fmt::format(
        "[config] {0}.source must be npy for a list of .npy files ({1}), got manifest; write {0}: "
        "{{source: npy, file: {2}}}",
        section, images->origin(0), where.data.string()));
  return images;
}

void require_every_class(const LabelledSource& source, const SplitParts& member) {
  const std::vector<std::int64_t> counts = count_classes(source, member.train);
  const auto none = std::find(counts.begin(), counts.end(), 0);
  if (none == counts.end()) return;
  const bool from_one =
      none == counts.begin() && std::find(none + 1, counts.end(), 0) == counts.end();
  throw DataError(fmt::format(
      "[data] {}: every class must have a record to train on, \"{}\" has none; give it more "
      "records, or leave it out; {}",
      source.name(), source.classes()[static_cast<std::size_t>(none - counts.begin())],
      from_one ? "if labels count from 1, write each less 1, or names (c1, c2)"
               : "labels that are whole numbers are those of the classes, from 0 without a gap: "
                 "write names for others (c1, c2)"));
}

}  // namespace

RecordSet open_set(const DataSet& set, const TaskData& data, const std::string& section, bool masks,
                   const std::vector<std::string>& classes) {
  require_places(set, section);
  RecordSet opened =
      holds_arrays(set.source)
          ? open_arrays(set, data, section, classes)
          : RecordSet{.source = open_pictures_of(set, data, section, masks, classes)};
  if (!masks && opened.source->classes().empty())
    throw DataError(fmt::format(
        "[data] {}: must have a class for every record, has none; give the manifest a column "
        "\"label\", say which it is ({}.columns.label, --label-column), or make a folder for each "
        "class",
        opened.source->name(), section));
  return opened;
}

std::vector<std::int64_t> all_rows(const LabelledSource& source) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(source.size()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<std::int64_t> evenly_spread(const std::vector<std::int64_t>& rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  std::vector<std::int64_t> some;
  some.reserve(most);
  for (std::size_t i = 0; i < most; ++i)
    some.push_back(rows[i * rows.size() / most]);
  return some;
}

std::string records_word(const LabelledSource& source) {
  std::uint64_t names = 0;
  std::uint64_t labels = 0;
  const auto mix = [](std::uint64_t& hash, std::string_view text) {
    hash = (hash ^ hash_name(text)) * 0x9e3779b97f4a7c15ULL + 1;
  };
  for (std::int64_t i = 0; i < source.size(); ++i) {
    mix(names, source.origin(i));
    mix(labels, fmt::format("{}", fmt::join(source.label_set(i), ",")));
  }
  for (const std::string& name : source.classes())
    mix(labels, name);
  return fmt::format("{} records, names {:016x}, labels {:016x}", source.size(), names, labels);
}

std::vector<std::int64_t> labels_at(const LabelledSource& source,
                                    const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> labels;
  labels.reserve(rows.size());
  for (const std::int64_t row : rows)
    labels.push_back(source.label(row));
  return labels;
}

std::vector<std::int64_t> count_classes(const LabelledSource& source,
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
  if (!masks) require_two_classes(*records.train.source);
  for (const std::string& line : class_remarks(records.train.source->classes()))
    log_data(headrace::LogLevel::warning, "[data] " + line);
  const RecordGroups groups = groups_of(*records.train.source, data.split);
  const auto part = [&](const DataSet& set, const char* section) {
    if (!set.is_given()) return records.train;
    require_other_place(set, data.train, section);
    RecordSet own = open_set(set, data, section, masks, records.train.source->classes());
    if (!masks) {
      require_same_classes(own.source, records.train.source, section);
      require_same_labels(*own.source, *records.train.source, section);
    }
    require_other_groups(groups_of(*own.source, data.split), groups, section);
    if (holds_arrays(data)) require_same_fields(own.source, records.train.source, section);
    return own;
  };
  records.validation = part(data.validation, "data.validation");
  records.test = part(data.test, "data.test");

  std::vector<CopyList> lists{copy_list(Side::training, records.train.source)};
  if (data.validation.is_given())
    lists.push_back(copy_list(Side::validation, records.validation.source));
  if (data.test.is_given()) lists.push_back(copy_list(Side::test, records.test.source));
  const Copies copies(std::move(lists), data.duplicates, data.listings);
  copies.tell();
  if (records.train.source->splits().empty()) records.copies = copies.digest();
  require_whole(groups, *records.train.source);
  SplitRecords view = split_view(*records.train.source, groups);
  join_groups(view, copies.pairs());
  records.groups = view.groups;
  records.members = members_of(*records.train.source, std::move(view), data, seed);
  for (SplitParts& member : records.members) {
    if (!masks) require_every_class(*records.train.source, member);
    if (data.validation.is_given()) member.validation = all_rows(*records.validation.source);
    if (data.test.is_given()) member.test = all_rows(*records.test.source);
  }
  return records;
}

std::size_t TaskRecords::resident_bytes() const {
  std::size_t bytes = train.resident_bytes;
  for (const RecordSet* part : {&validation, &test})
    if (part->source != train.source) bytes += part->resident_bytes;
  return bytes;
}

void load(TaskRecords& records) {
  const Labelled outline = records.train.source;
  if (records.train.load) records.train.source = records.train.load();
  for (RecordSet* part : {&records.validation, &records.test}) {
    if (part->source == outline)
      part->source = records.train.source;
    else if (part->load)
      part->source = part->load();
  }
}

}  // namespace headrace::inline v1::app
