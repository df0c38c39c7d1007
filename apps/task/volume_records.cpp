#include <headrace/apps/task/name_groups.h>
#include <headrace/apps/task/volume_copies.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/plain_volumes.h>

#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// A data set whose labels' meaning is known.
struct LabelledVolumes {
  fs::path folder{};
  std::vector<std::string> channels{};
  std::vector<std::string> classes{};
  std::optional<std::int64_t> ignore{};
  std::vector<std::int64_t> values{};  // that a label may have
  std::vector<NnUNetCase> cases{};
};

LabelledVolumes read_raw(const fs::path& folder, const OpenVolumes& what) {
  const VolumeClasses& expected = what.expected;
  NnUNetRaw raw = read_nnunet_raw(folder, what.follow_links);
  LabelledVolumes made{.folder = raw.folder,
                       .channels = raw.channels,
                       .classes = volume_classes(raw),
                       .ignore = raw.ignore,
                       .values = raw.values(),
                       .cases = std::move(raw.cases)};
  if (expected.names.empty()) return made;
  if (made.classes.size() != expected.names.size() ||
      (made.ignore && made.ignore != expected.ignore))
    throw ConfigError(fmt::format(
        "[data] {}: labels must be those of {}{}, got {} in dataset.json; take kind: segmentation "
        "for others",
        folder.string(), fmt::join(expected.names, ", "),
        expected.ignore ? fmt::format(", and {} for what counts nowhere", *expected.ignore) : "",
        fmt::join(made.classes, ", ")));
  made.classes = expected.names;
  if (!made.ignore && expected.ignore) {
    made.ignore = expected.ignore;
    made.values.push_back(*expected.ignore);
  }
  return made;
}

LabelledVolumes labelled_volumes(const fs::path& folder, const OpenVolumes& what) {
  const VolumeClasses& expected = what.expected;
  const auto plain =
      expected.names.empty() || is_nnunet_raw(folder) ? std::nullopt : plain_volumes_in(folder);
  if (!plain) return read_raw(folder, what);
  LabelledVolumes made{.folder = folder,
                       .channels = {"image"},
                       .classes = expected.names,
                       .ignore = expected.ignore,
                       .cases = list_plain_volumes(*plain, /*all_labelled=*/true)};
  for (std::size_t label = 0; label < expected.names.size(); ++label)
    made.values.push_back(static_cast<std::int64_t>(label));
  if (expected.ignore) made.values.push_back(*expected.ignore);
  return made;
}

void require_same(const LabelledVolumes& train, const LabelledVolumes& more) {
  if (more.classes == train.classes && more.channels.size() == train.channels.size() &&
      (!more.ignore || more.ignore == train.ignore))
    return;
  throw ConfigError(
      fmt::format("[data] {}: must have the classes and channels of {}, {} and {}, got {} and {}",
                  more.folder.string(), train.folder.string(), fmt::join(train.classes, ", "),
                  train.channels.size(), fmt::join(more.classes, ", "), more.channels.size()));
}

RecordGroups groups_of_cases(const LabelledVolumes& volumes, const SplitSettings& split) {
  if (split.group.empty()) return {};
  return groups_by_name(split.group, case_names(volumes.cases, volumes.folder));
}

// What has records of its own takes no share.
SplitSettings split_beside(const OpenVolumes& what) {
  SplitSettings split = what.split;
  if (!what.validation.empty()) split.validation = 0.0;
  if (!what.test.empty()) split.test = 0.0;
  return split;
}

std::vector<PreparedCase> prepared_of(const LabelledVolumes& volumes, const OpenVolumes& what,
                                      const VolumeSettings& volume) {
  return prepare_volumes(volumes.cases,
                         {.folder = prepared_folder(volumes.folder, volume),
                          .threads = what.threads,
                          .values = volumes.values},
                         volume.preparation);
}

void check_channels(const LabelledVolumes& volumes, const VolumeSettings& volume) {
  const std::size_t said = volume.preparation.channels.size();
  if (said == 1 || said == volumes.channels.size()) return;
  throw ConfigError(fmt::format(
      "[config] volume.normalise must have an entry for each of {} channels ({}), or one for all, "
      "got {}",
      volumes.channels.size(), fmt::join(volumes.channels, ", "), said));
}

void check_classes(const VolumeRecords& records, const VolumeSettings& volume) {
  const auto count = static_cast<std::int64_t>(records.classes.size());
  for (const std::int64_t label : volume.sampling.classes) {
    if (label >= 0 && label < count && label != records.ignore) continue;
    throw ConfigError(
        fmt::format("[config] volume.sampling.classes must be labels of classes, 0 to {}, got {}",
                    count - 1, label));
  }
}

}  // namespace

RecordNames case_names(const std::vector<NnUNetCase>& cases, const fs::path& folder) {
  return {.source = folder.string(), .size = std::ssize(cases), .at = [&cases](std::int64_t place) {
            return cases[static_cast<std::size_t>(place)].name;
          }};
}

std::vector<std::string> volume_classes(const NnUNetRaw& raw) {
  if (raw.regions())
    throw ConfigError(fmt::format(
        "[data] {}: classes must not overlap, got regions (dataset.json has labels of several "
        "values); give each value a label of its own",
        raw.folder.string()));
  std::vector<std::string> classes(raw.labels.size());
  for (const NnUNetLabel& label : raw.labels)
    classes.at(static_cast<std::size_t>(label.values.front())) = label.name;
  return classes;
}

namespace {

// Listed and divided, but not prepared.
struct DividedVolumes {
  LabelledVolumes train{};
  LabelledVolumes validation{};
  LabelledVolumes test{};
  VolumeRecords records{};
};

DividedVolumes divided(const OpenVolumes& what, const VolumeSettings& volume) {
  if (what.folder.empty())
    throw ConfigError(
        "[config] data.train.folder must name a folder with imagesTr, labelsTr and dataset.json, "
        "got nothing");
  DividedVolumes made{.train = labelled_volumes(what.folder, what)};
  const LabelledVolumes& train = made.train;
  VolumeRecords& records = made.records;
  records.classes = train.classes;
  records.ignore = train.ignore;
  check_channels(train, volume);
  check_classes(records, volume);
  const RecordGroups groups = groups_of_cases(train, what.split);
  const auto beside = [&](const fs::path& folder) {
    LabelledVolumes more;
    if (folder.empty()) return more;
    more = labelled_volumes(folder, what);
    require_same(train, more);
    require_other_groups(groups_of_cases(more, what.split), groups, folder.string());
    return more;
  };
  made.validation = beside(what.validation);
  made.test = beside(what.test);
  const Copies copies({copy_list(Side::training, train.folder, train.cases),
                       copy_list(Side::validation, made.validation.folder, made.validation.cases),
                       copy_list(Side::test, made.test.folder, made.test.cases)},
                      what.duplicates, what.listings);
  records.copies = copies.digest();
  copies.tell();
  SplitRecords view{.size = static_cast<std::int64_t>(train.cases.size()),
                    .groups = groups.numbers};
  join_groups(view, copies.pairs());
  records.members = split_records(std::move(view), split_beside(what), what.seed);
  return made;
}

}  // namespace

void check_volume_records(const OpenVolumes& what, const VolumeSettings& volume) {
  static_cast<void>(divided(what, volume));
}

VolumeRecords open_volume_records(const OpenVolumes& what, const VolumeSettings& volume) {
  DividedVolumes made = divided(what, volume);
  VolumeRecords records = std::move(made.records);
  std::vector<PreparedCase> prepared = prepared_of(made.train, what, volume);
  records.cases = made.train.cases;
  const auto add = [&](const LabelledVolumes& more, auto part) {
    records.cases.insert(records.cases.end(), more.cases.begin(), more.cases.end());
    if (more.cases.empty()) return;
    for (PreparedCase& one : prepared_of(more, what, volume)) {
      const auto number = static_cast<std::int64_t>(prepared.size());
      for (SplitParts& member : records.members)
        (member.*part).push_back(number);
      prepared.push_back(std::move(one));
    }
  };
  add(made.validation, &SplitParts::validation);
  add(made.test, &SplitParts::test);
  records.set = open_prepared(
      std::move(prepared), naming_labels(volume, static_cast<std::int64_t>(records.classes.size())),
      records.ignore);
  return records;
}

}  // namespace headrace::inline v1::app
