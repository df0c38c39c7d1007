#include <headrace/apps/task/find_arrays.h>
#include <headrace/apps/task/find_datasets.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/loaders/memory/npy_file.h>
#include <headrace/loaders/npy/npy_table.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Whether some record has another number of classes than one.
bool has_several(const LabelledSource& flags) {
  for (std::int64_t i = 0; i < flags.size(); ++i)
    if (flags.label_set(i).size() != 1) return true;
  return false;
}

DataSet set_of(const fs::path& file, const FoundDatasets& found) {
  if (found.labels.empty())
    throw ConfigError(fmt::format(
        "[data] {}: must have a dataset of labels, whole numbers or names [records] or flags "
        "[records, classes], called labels or y; it has {}; write one, or name it: data.train: "
        "{{source: hdf5, file: {}, data: {}, labels: DATASET}}",
        file.string(), found.reasons, file.string(), found.data));
  return {.source = RecordsIn::hdf5,
          .file = file,
          .data = found.data,
          .labels = found.labels,
          .groups = found.groups,
          .multi_label =
              found.flags &&
              has_several(Hdf5Records({.data = found.data,
                                       .labels = found.labels,
                                       .multi_label = true,
                                       .table = {.file = file, .residence = Residence::file}}))};
}

FoundData in_hdf5(const fs::path& file) {
  FoundFile in = find_datasets(file);
  FoundData found{.train = set_of(file, in.train), .left_out = std::move(in.others)};
  if (in.validation) found.validation = set_of(file, *in.validation);
  if (in.test) found.test = set_of(file, *in.test);
  return found;
}

// "train_x" with y for x: "train_y"; empty where x is no part of the name.
std::string with_word(const std::string& stem, std::string_view word, std::string_view other) {
  const std::string small = lower_case(stem);
  const std::string to(other);
  if (small == word) return to;
  if (small.starts_with(std::string(word) + '_')) return to + stem.substr(word.size());
  if (small.ends_with('_' + std::string(word)))
    return stem.substr(0, stem.size() - word.size()) + to;
  return {};
}

// The file of the labels of a file of features; empty: there is none.
fs::path label_file_of(const fs::path& features) {
  const std::string stem = features.stem().native();
  std::vector<std::string> names;
  for (const std::string_view data : data_names)
    for (const std::string_view label : label_names)
      names.push_back(with_word(stem, data, label));
  for (const std::string_view label : label_names)
    names.push_back(fmt::format("{}_{}", stem, label));
  std::error_code failed;
  for (const std::string& name : names) {
    const fs::path file = features.parent_path() / (name + ".npy");
    if (!name.empty() && fs::is_regular_file(file, failed)) return file;
  }
  return {};
}

DataSet in_table(const fs::path& features, const fs::path& labels) {
  DataSet set{.source = RecordsIn::npy, .file = features, .labels = labels.native()};
  const Shape shape = NpyFile(labels).shape();
  if (shape.rank() == 2 && shape[1] != 1)
    set.multi_label = has_several(NpyTable(
        {.features = features, .labels = labels, .multi_label = true, .in_memory = false}));
  return set;
}

// Whether one of the first two lines, as far as they are no longer than lines may be, names arrays.
bool lists_arrays(const fs::path& list) {
  constexpr std::size_t most = std::size_t{2} << 20;
  std::string text(most, '\0');
  std::ifstream file(list, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t second = std::min(text.find('\n'), text.size() - 1) + 1;
  text.resize(std::min(text.find('\n', second), text.size()));
  return lower_case(text).find(".npy") != std::string::npos;
}

bool is_hidden(const fs::path& file) {
  return file.filename().native().starts_with('.');
}

bool is_npy(const fs::path& file) {
  return lower_case(file.extension().native()) == ".npy";
}

}  // namespace

std::optional<FoundData> arrays_in_file(const fs::path& file) {
  if (is_hdf5(file)) return in_hdf5(file);
  if (is_list(file) && lists_arrays(file))
    return FoundData{.train = {.source = RecordsIn::npy, .file = file}};
  if (!is_npy(file)) return std::nullopt;
  const fs::path labels = label_file_of(file);
  if (labels.empty())
    throw ConfigError(fmt::format(
        "[data] {}: must have a file of labels beside it (x.npy and y.npy, features.npy and "
        "labels.npy), has none; write a configuration with data.train: {{source: npy, file: {}, "
        "labels: FILE}}",
        file.string(), file.string()));
  return FoundData{.train = in_table(file, labels)};
}

std::vector<DataSet> array_tables_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (is_npy(entry->path()) && !is_hidden(entry->path())) files.push_back(entry->path());
  std::ranges::sort(files);
  std::vector<DataSet> tables;
  for (const fs::path& file : files) {
    if (is_called(file.stem().native(), label_names)) continue;
    if (const fs::path labels = label_file_of(file); !labels.empty())
      tables.push_back(in_table(file, labels));
  }
  return tables;
}

bool has_class_folders_of_arrays(const fs::path& folder) {
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry.depth() == 0 || is_hidden(entry->path()) || !entry->is_regular_file()) continue;
    if (is_npy(entry->path())) return true;
    if (has_image_extension(entry->path().native())) return false;
  }
  return false;
}

std::vector<std::string> describe_choice(const FoundData& found) {
  const DataSet& set = found.train;
  if (set.source == RecordsIn::hdf5) {
    std::vector<std::string> lines{fmt::format("records are the dataset {}, labels {}{}{}",
                                               set.data, set.labels,
                                               set.multi_label ? " (several a record)" : "",
                                               set.groups.empty() ? "" : ", groups " + set.groups)};
    const std::span all(found.left_out);
    const auto first = all.first(std::min<std::size_t>(all.size(), 6));
    if (!all.empty())
      lines.push_back(fmt::format("left out: {}{}", fmt::join(first, ", "),
                                  first.size() == all.size()
                                      ? ""
                                      : fmt::format(" and {} more", all.size() - first.size())));
    return lines;
  }
  if (!set.labels.empty())
    return {fmt::format("records are the rows of {}, labels those of {}{}", set.file.string(),
                        set.labels, set.multi_label ? " (several a record)" : "")};
  return {};
}

}  // namespace headrace::inline v1::app
