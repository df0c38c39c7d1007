#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/table/table_plan.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

std::string file_prefix(const Hdf5TableOptions& options, std::size_t file = 0) {
  return "[hdf5] " + printable((file == 0 ? options.file : options.more_files[file - 1]).native()) +
         ": ";
}

std::string field_name(const Hdf5Field& field, const std::string& dataset) {
  return field.name.empty() ? dataset.substr(dataset.rfind('/') + 1) : field.name;
}

/// The datasets that the options name, groups opened out.
std::vector<DatasetRequest> requests_of(const OpenedFile& file, const Hdf5TableOptions& options) {
  if (options.fields.empty()) {
    throw ConfigError(file_prefix(options) +
                      "needs at least one dataset, got none; name the fields");
  }
  if (options.sample_axes < 1) {
    throw ConfigError(file_prefix(options) + "sample_axes must be at least 1, got " +
                      std::to_string(options.sample_axes));
  }
  std::vector<DatasetRequest> requests;
  for (const Hdf5Field& field : options.fields) {
    if (field.axes < 0) {
      throw ConfigError(file_prefix(options) + "field \"" + printable(field.dataset) +
                        "\": axes must not be negative, got " + std::to_string(field.axes));
    }
    for (const std::string& dataset : file.library->datasets_in(field.dataset)) {
      requests.push_back({.field = field_name(field, dataset),
                          .path = dataset,
                          .axes = field.axes > 0 ? field.axes : options.sample_axes,
                          .all_axes = field.axes == 0,
                          .memory = options.memory,
                          .by_library = options.residence == Residence::library});
    }
  }
  if (requests.empty())
    throw ConfigError(file_prefix(options) + "the groups named have no dataset; name datasets");
  return requests;
}

std::string places_of(const Hdf5Dataset& dataset) {
  std::string text;
  for (const std::int64_t extent : dataset.leading)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

/// The dataset whose rows are the samples: the first of those with the most leading axes.
const Hdf5Dataset& longest(const std::vector<Hdf5Dataset>& datasets) {
  return *std::ranges::max_element(datasets, {},
                                   [](const Hdf5Dataset& data) { return data.leading.size(); });
}

/// Samples that share one row of a field.
std::int64_t repeat_of(const Hdf5Dataset& dataset, const Hdf5Dataset& samples,
                       const std::string& who) {
  const bool outer =
      std::equal(dataset.leading.begin(), dataset.leading.end(), samples.leading.begin());
  if (!outer) {
    throw ConfigError(who + "dataset \"" + printable(samples.path) + "\" has " +
                      places_of(samples) + " rows but \"" + printable(dataset.path) + "\" has " +
                      places_of(dataset) + "; fields of one table need the same number");
  }
  return dataset.rows > 0 ? samples.rows / dataset.rows : 1;
}

std::vector<Hdf5Dataset> describe_file(const OpenedFile& file,
                                       const std::vector<DatasetRequest>& requests,
                                       const Hdf5TableOptions& options,
                                       std::vector<std::string>& notes) {
  std::vector<Hdf5Dataset> datasets;
  for (const DatasetRequest& request : requests) {
    Hdf5Dataset added = file.library->describe(request);
    for (const Hdf5Dataset& other : datasets) {
      if (other.field != added.field) continue;
      throw ConfigError(file_prefix(options) + "datasets \"" + printable(other.path) + "\" and \"" +
                        printable(added.path) + "\" both want the field name \"" +
                        printable(added.field) + "\"; name one of them");
    }
    datasets.push_back(std::move(added));
  }
  if (const std::string why = file.library->save_indexes(); !why.empty()) {
    notes.push_back("[hdf5] " + printable(file.file->path().native()) +
                    ": the chunk index could not be kept beside the file (" + why +
                    "); it is built anew at every opening");
  }
  return datasets;
}

void add_file(TablePlan& plan, std::vector<Hdf5Dataset> datasets, const std::string& who) {
  const Hdf5Dataset& samples = longest(datasets);
  const std::int64_t rows = samples.rows;
  plan.fields.resize(datasets.size());
  std::vector<std::int64_t> repeats;
  repeats.reserve(datasets.size());
  for (const Hdf5Dataset& dataset : datasets)
    repeats.push_back(repeat_of(dataset, samples, who));
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    TableField& field = plan.fields[i];
    if (!field.datasets.empty()) {
      const Hdf5Dataset& before = field.first();
      if (before.dtype != datasets[i].dtype || before.row != datasets[i].row ||
          field.repeat != repeats[i]) {
        throw ConfigError(
            who + "dataset \"" + printable(datasets[i].path) + "\" has rows of " +
            std::string(name_of(datasets[i].dtype)) + " " + to_string(datasets[i].row) + " for " +
            std::to_string(repeats[i]) + " samples each, in the first file they are " +
            std::string(name_of(before.dtype)) + " " + to_string(before.row) + " for " +
            std::to_string(field.repeat) + "; files of one table need the same fields");
      }
    }
    field.repeat = repeats[i];
    field.datasets.push_back(std::move(datasets[i]));
  }
  plan.files.back().first_row = plan.rows;
  plan.files.back().rows = rows;
  plan.rows += rows;
}

std::vector<Hdf5Attribute> attributes_of(LibraryAccess& library,
                                         const std::vector<Hdf5Dataset>& datasets,
                                         const Hdf5TableOptions& options) {
  if (options.attributes.empty()) return {};
  AttributeRequest request{.names = options.attributes, .objects = {"/"}};
  for (const Hdf5Dataset& dataset : datasets)
    request.objects.push_back(dataset.path);
  return library.attributes(request);
}

/// Whether rows may have to come through it.
bool needs_library(const std::vector<Hdf5Dataset>& datasets, const Hdf5TableOptions& options) {
  return options.residence == Residence::library ||
         std::ranges::any_of(datasets,
                             [](const Hdf5Dataset& dataset) { return !dataset.library.empty(); });
}

}  // namespace

TablePlan plan_table(const Hdf5TableOptions& options) {
  TablePlan plan;
  const Stage stage{options.stage, options.log, options.on_stage};
  std::vector<DatasetRequest> requests;
  for (std::size_t i = 0; i <= options.more_files.size(); ++i) {
    const auto& path = i == 0 ? options.file : options.more_files[i - 1];
    plan.files.push_back({.path = path, .opened = open_hdf5(path, stage, options.keep_index)});
    OpenedFile& file = plan.files.back().opened;
    if (i == 0) requests = requests_of(file, options);
    std::vector<Hdf5Dataset> datasets = describe_file(file, requests, options, plan.notes);
    if (i == 0) plan.attributes = attributes_of(*file.library, datasets, options);
    if (!needs_library(datasets, options)) file.library.reset();
    add_file(plan, std::move(datasets), file_prefix(options, i));
  }
  return plan;
}

}  // namespace headrace::inline v1::detail
