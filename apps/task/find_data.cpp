#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/task/find_arrays.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/find_datasets.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/listing/data_split.h>
#include <headrace/loaders/listing/split_folders.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::optional<DataSet> in_a_file(const fs::path& data) {
  std::error_code failed;
  if (!fs::is_regular_file(data, failed)) return std::nullopt;
  if (is_list(data)) return DataSet{.source = RecordsIn::manifest, .file = data};
  if (is_pack(data)) return DataSet{.source = RecordsIn::pack, .file = data};
  return std::nullopt;
}

std::optional<DataSet> classes_in(const fs::path& folder) {
  if (has_class_folders_of_arrays(folder))
    return DataSet{.source = RecordsIn::npy, .folder = folder};
  std::vector<DataSet> tables = array_tables_in(folder);
  if (tables.size() == 1) return std::move(tables.front());
  if (folders_in(folder).empty()) return std::nullopt;
  return DataSet{.source = RecordsIn::images, .folder = folder};
}

// Several tables in a folder, each for what its name says; nothing for one or none.
std::optional<FoundData> parts_of_tables(const fs::path& folder) {
  std::vector<DataSet> tables = array_tables_in(folder);
  if (tables.size() < 2) return std::nullopt;
  FoundData found;
  for (DataSet& table : tables) {
    const auto split = split_in_name(table.file.stem().native());
    const fs::path file = table.file;
    bool fresh = split.has_value();
    if (split == DataSplit::train) {
      fresh = !found.train.is_given();
      found.train = std::move(table);
    } else if (split) {
      auto& part = *split == DataSplit::validation ? found.validation : found.test;
      fresh = !part;
      part = std::move(table);
    }
    if (!fresh)
      throw ConfigError(fmt::format(
          "[data] {}: files of features must be one, or one each called x_train, x_validation and "
          "x_test, got {}, too; name one file, or write a configuration that names them",
          folder.string(), file.filename().string()));
  }
  if (!found.train.is_given())
    throw ConfigError(fmt::format(
        "[data] {}: must hold features to train on (x_train.npy), has none", folder.string()));
  return found;
}

}  // namespace

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !headrace::detail::is_hidden(entry.path().filename().native()))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

FoundData find_with(const fs::path& data, const LookAtFolder& look, const char* must_be,
                    bool follow_links) {
  if (auto one = in_a_file(data)) return {.train = std::move(*one)};
  std::error_code failed;
  const auto refuse = [&](const fs::path& what, const char* came) {
    throw ConfigError(fmt::format("[data] {}: must be {}, got {}", what.string(), must_be, came));
  };
  if (!fs::is_directory(data, failed))
    refuse(data, fs::exists(data, failed) ? "another file" : "nothing of that name");
  const auto in_folder = [&](const fs::path& folder) {
    auto found = look(folder);
    if (!found) refuse(folder, "a folder of another kind");
    return std::move(*found);
  };
  const std::optional<SplitFolders> parts = split_folders(data, follow_links);
  if (!parts) return {.train = in_folder(data)};
  FoundData found{.train = in_folder(parts->train)};
  if (!parts->validation.empty()) found.validation = in_folder(parts->validation);
  if (!parts->test.empty()) found.test = in_folder(parts->test);
  return found;
}

std::optional<DataSet> part_of(const FoundData& found, const std::string& split) {
  const std::optional<DataSplit> part =
      split.empty() || split == "all" ? DataSplit::test : split_named(split);
  if (!part)
    throw ConfigError("[evaluate] --split must be train, validation, test or all, got \"" + split +
                      '"');
  if (!found.validation && !found.test) return std::nullopt;
  const std::string parts = std::string("train") + (found.validation ? ", validation" : "") +
                            (found.test ? ", test" : "");
  if (split == "all")
    throw ConfigError("[evaluate] --split all: the data lie in parts, " + parts + "; name one");
  if (*part == DataSplit::train) return found.train;
  const std::optional<DataSet>& set =
      *part == DataSplit::validation ? found.validation : found.test;
  if (!set)
    throw ConfigError("[evaluate] --split must be one of the parts of the data, " + parts +
                      ", got " + (split.empty() ? "none, and there is no test" : split));
  return set;
}

FoundData find_classes(const fs::path& data, bool follow_links) {
  std::error_code failed;
  if (fs::is_directory(data, failed))
    if (auto parts = parts_of_tables(data)) return std::move(*parts);
  if (fs::is_regular_file(data, failed))
    if (auto arrays = arrays_in_file(data)) return std::move(*arrays);
  return find_with(
      data, classes_in,
      "a folder with a folder for each class (or folders train, validation, test of such), "
      "a manifest (.csv, .tsv, .jsonl), a pack, an HDF5 file (.h5, MATLAB's .mat), or .npy "
      "files of features and labels (x.npy, y.npy)",
      follow_links);
}

}  // namespace headrace::inline v1::app
