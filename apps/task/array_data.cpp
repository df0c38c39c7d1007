#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/find_datasets.h>
#include <headrace/apps/task/name_groups.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/npy/npy_files.h>
#include <headrace/loaders/npy/npy_folder.h>
#include <headrace/loaders/npy/npy_manifest.h>
#include <headrace/loaders/npy/npy_table.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::size_t bytes_of(const Source& rows) {
  return rows.fields()[0].row_bytes() * static_cast<std::size_t>(rows.size());
}

void say_not_kept(const Source& rows, Bytes allowed) {
  log_data(LogLevel::info,
           fmt::format("[data] {}: {} are more than data.resident, {}; rows are read as they are "
                       "wanted",
                       rows.name(), format_exact(Bytes{bytes_of(rows)}), format_exact(allowed)));
}

RecordSet open_table(NpyTableOptions options, const TaskData& data) {
  options.in_memory = false;
  RecordSet set{.source = std::make_shared<const NpyTable>(options)};
  const std::size_t bytes = bytes_of(*set.source);
  if (bytes > data.resident.value) {
    say_not_kept(*set.source, data.resident);
    return set;
  }
  set.resident_bytes = bytes;
  options.in_memory = true;
  set.load = [options] { return std::make_shared<const NpyTable>(options); };
  return set;
}

RecordSet open_npy(const DataSet& set, const TaskData& data, const std::string& section,
                   const std::vector<std::string>& classes) {
  if (set.folder.empty() == set.file.empty())
    throw ConfigError(
        fmt::format("[config] {0}.folder must name a folder with a folder for each class, or "
                    "{0}.file a list of "
                    ".npy files or one with all features, got {1}",
                    section, set.folder.empty() ? "neither" : "both"));
  if (set.labels.empty() && !set.file.empty() && !is_list(set.file))
    throw ConfigError(fmt::format(
        "[config] {0}.labels must name the .npy file with the labels of {1}, got nothing", section,
        set.file.string()));
  if ((!set.folder.empty() || is_list(set.file)) &&
      (!set.labels.empty() || !set.groups.empty() || set.multi_label))
    throw ConfigError(fmt::format(
        "[config] {0}.labels, {0}.groups and {0}.multi_label are of one .npy file with all "
        "features; a folder gives labels by its folders, a list by its columns (labels: "
        "{0}.columns, groups: data.split.group)",
        section));
  if (!set.folder.empty())
    return {.source = std::make_shared<const NpyFolder>(
                set.folder, NpyFolderOptions{.field = array_field,
                                             .classes = classes,
                                             .log = &log_data,
                                             .follow_links = data.follow_links})};
  if (is_list(set.file)) {
    return {.source = std::make_shared<const NpyManifest>(
                set.file, NpyManifestOptions{.field = array_field,
                                             .root = set.root,
                                             .columns = columns_of(set, data.split),
                                             .classes = classes,
                                             .follow_links = data.follow_links})};
  }
  return open_table({.features = set.file,
                     .labels = set.labels,
                     .field = array_field,
                     .classes = classes,
                     .multi_label = set.multi_label,
                     .groups = set.groups},
                    data);
}

RecordSet open_hdf5(const DataSet& set, const TaskData& data, const std::string& section,
                    const std::vector<std::string>& classes) {
  if (set.file.empty())
    throw ConfigError(fmt::format("[config] {}.file must name an HDF5 file, got nothing", section));
  const auto dataset = [&](const std::string& name, const char* key) {
    return require_dataset(set.file, name, fmt::format("{}.{}", section, key));
  };
  Hdf5RecordsOptions options{
      .data = dataset(set.data, "data"),
      .labels = dataset(set.labels, "labels"),
      .field = array_field,
      .classes = classes,
      .classes_fixed = set.classes.empty() && !classes.empty(),
      .multi_label = set.multi_label,
      .groups = set.groups.empty() ? std::string() : dataset(set.groups, "groups"),
      .table = {.file = set.file, .memory = data.resident.value, .residence = Residence::file}};
  RecordSet opened{.source = std::make_shared<const Hdf5Records>(options)};
  if (!opened.source->blocking()) {  // turned in memory, as MATLAB's axes are
    log_data(LogLevel::info, fmt::format("[data] {}: MATLAB's axes are turned back in memory",
                                         opened.source->name()));
    opened.resident_bytes = bytes_of(*opened.source);
    return opened;
  }
  const std::size_t bytes = bytes_of(*opened.source);
  if (bytes <= data.resident.value)
    opened.resident_bytes = bytes;
  else
    say_not_kept(*opened.source, data.resident);
  options.table.residence = Residence::automatic;
  options.table.stage = data.stage;
  options.table = telling(std::move(options.table));
  opened.load = [options] {
    const auto records = std::make_shared<const Hdf5Records>(options);
    watch_table({records, &records->table()});
    return records;
  };
  return opened;
}

bool is_taken(DType dtype) {
  return dtype != DType::uint16 && dtype != DType::uint32 && dtype != DType::uint64 &&
         dtype != DType::boolean;
}

// A record whose length is not that of the longest.
[[noreturn]] void refuse_lengths(const Source& records, const FieldSpec& field) {
  std::int64_t other = 0;
  for (std::int64_t i = 0; i < records.size(); ++i) {
    const std::size_t bytes = records.working_bytes(i);
    if (bytes == 0 || bytes == records.largest_working_bytes()) continue;  // 0: cannot be read
    other = i;
    break;
  }
  const std::size_t line =
      field.row_bytes() / static_cast<std::size_t>(field.shape.elements()) *
      static_cast<std::size_t>(field.shape.elements() / field.shape[field.shape.rank() - 1]);
  throw DataError(fmt::format(
      "[data] {}: {} has {} along its last axis, the longest record has {}; {}", records.name(),
      records.origin(other), records.working_bytes(other) / line,
      field.shape[field.shape.rank() - 1],
      field.shape.rank() > 1 ? "set array.frames: longer ones are cut, shorter ones padded"
                             : "vectors must be of one length"));
}

}  // namespace

RecordSet open_arrays(const DataSet& set, const TaskData& data, const std::string& section,
                      const std::vector<std::string>& classes) {
  if (!classes.empty() && !set.classes.empty() && set.classes != classes)
    throw ConfigError(fmt::format(
        "[config] {}.classes must be the classes that are trained, {}, in their order, got {}; "
        "leave it out",
        section, fmt::join(classes, ", "), fmt::join(set.classes, ", ")));
  const std::set<std::string> different(set.classes.begin(), set.classes.end());
  if (different.size() != set.classes.size() || different.contains(""))
    throw ConfigError(fmt::format("[config] {}.classes must be names, each another, got {}",
                                  section, fmt::join(set.classes, ", ")));
  const std::vector<std::string>& names = classes.empty() ? set.classes : classes;
  return set.source == RecordsIn::hdf5 ? open_hdf5(set, data, section, names)
                                       : open_npy(set, data, section, names);
}

std::shared_ptr<const Source> open_unlabelled_arrays(const fs::path& data, const DataSet& like,
                                                     const Shape& record, bool follow_links) {
  std::error_code failed;
  if (fs::is_directory(data, failed))
    return std::make_shared<const NpyFiles>(data, array_field, follow_links);
  if (is_list(data))
    return std::make_shared<const NpyManifest>(
        data, NpyManifestOptions{.field = array_field,
                                 .root = like.root,
                                 .columns = {.path = like.columns.path},
                                 .follow_links = follow_links});
  if (is_hdf5(data)) {
    const std::string name = like.data.empty() ? find_datasets(data).train.data
                                               : require_dataset(data, like.data, "data");
    return std::make_shared<const Hdf5Records>(
        Hdf5RecordsOptions{.data = name,
                           .field = array_field,
                           .record = record,
                           .table = {.file = data, .residence = Residence::file}});
  }
  const Shape shape = NpyFile(data).shape();
  const bool channel_last =
      record.rank() == 2 && record[1] != 1 && without_last_channel(shape).rank() == 2;
  if (shape.rank() == record.rank() || channel_last)
    return std::make_shared<const NpyFiles>(data, array_field);
  return std::make_shared<const NpyTable>(
      NpyTableOptions{.features = data, .field = array_field, .in_memory = false});
}

namespace {

// [rows, columns, 3], as pictures are often kept: it would be taken for as many channels as rows.
// Frames are not so few.
void refuse_channels_last(const Source& records, const Shape& shape) {
  constexpr std::int64_t most_colours = 4;
  if (shape.rank() != 3 || shape[2] < 2 || shape[2] > most_colours || shape[0] <= most_colours ||
      shape[1] <= most_colours)
    return;
  throw DataError(fmt::format(
      "[data] {}: a record must be [channels, bins, frames], got {}, whose channels seem to come "
      "last; write it as [{}, {}, {}] (numpy.moveaxis(x, -1, 1)), or write array.frames: {} into a "
      "configuration if it has so many frames",
      records.name(), to_string(shape), shape[2], shape[0], shape[1], shape[2]));
}

}  // namespace

Shape record_shape(const Source& records, const ArraySettings& array) {
  const FieldSpec field = records.fields().at(array_field);
  Shape shape = without_last_channel(field.shape);
  if (!is_taken(field.dtype))
    throw ConfigError(fmt::format(
        "[data] {}: records must be uint8, int8 to int64, float16, bfloat16, float32 or float64, "
        "got {}; convert them",
        records.name(), name_of(field.dtype)));
  if (field.kind == FieldSpec::Kind::ragged || shape.rank() < 1 || shape.rank() > 3)
    throw ConfigError(fmt::format(
        "[data] {}: a record must be [values], [bins, frames] or [channels, bins, frames], got {}",
        records.name(), to_string(field)));
  if (array.frames) {
    if (shape.rank() == 1)
      throw ConfigError(fmt::format(
          "[config] array.frames is of spectrograms, but records of {} are vectors, {}; leave it "
          "out",
          records.name(), to_string(field)));
    shape.set(shape.rank() - 1, *array.frames);
  } else if (field.kind == FieldSpec::Kind::padded) {
    refuse_lengths(records, field);
  } else {
    refuse_channels_last(records, shape);
  }
  return shape;
}

Shape without_last_channel(const Shape& record) {
  if (record.rank() != 3 || record[2] != 1) return record;
  return Shape(record.extents().first(2));
}

std::int64_t channels_of(const Shape& record) {
  return record.rank() == 2 ? 1 : record[0];
}

std::string require_dataset(const fs::path& file, const std::string& name, const std::string& key) {
  const std::vector<std::string> names = hdf5_datasets(file);
  const std::string path = name.starts_with('/') ? name : "/" + name;
  if (!name.empty() && std::ranges::find(names, path) != names.end()) return path;
  const auto meant = nearest_name(path, names);
  throw ConfigError(fmt::format("[config] {} must name a dataset of {}, got {}; {}", key,
                                file.string(), name.empty() ? "nothing" : '"' + name + '"',
                                meant ? fmt::format("did you mean \"{}\"?", *meant)
                                      : fmt::format("it has {}", fmt::join(names, ", "))));
}

}  // namespace headrace::inline v1::app
