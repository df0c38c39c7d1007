#include <headrace/apps/pack/pack_table_columns.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/memory/npy_file.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// Decoded chunks that are kept while a dataset is read.
constexpr std::size_t table_memory = 256_MiB;

// As it lies in the file, so that the rates before and after tell of the layouts; what only the
// library can read comes through it.
Hdf5Table open_table(const std::filesystem::path& file, const std::string& dataset,
                     const LogCallback& log) {
  Hdf5TableOptions options{.file = file,
                           .fields = {{.name = "x", .dataset = dataset}},
                           .memory = table_memory,
                           .residence = Residence::pread,
                           .log = log,
                           .attributes = {"*"}};
  try {
    return Hdf5Table(options);
  } catch (const ConfigError&) {
    options.residence = Residence::automatic;
    return Hdf5Table(options);
  }
}

class TableColumnOfFile final : public PackColumn {
 public:
  TableColumnOfFile(const std::filesystem::path& file, std::string dataset, const LogCallback& log)
      : path_(std::move(dataset)),
        table_(open_table(file, path_, log)),
        field_(*table_.fields().begin()) {
    if (field_.kind != FieldSpec::Kind::fixed) {
      throw DataError(
          fmt::format("[pack] {}: dataset \"{}\" has rows of variable length, which "
                      "cannot be packed; leave it out",
                      file.string(), path_));
    }
  }

  std::string path() const override { return path_; }
  DType dtype() const override { return field_.dtype; }
  Shape row() const override { return field_.shape; }
  std::int64_t size() const override { return table_.size(); }
  void read(std::span<const std::int64_t> indices, std::byte* to) const override {
    const std::array columns{Rows::Column{to, row_bytes()}};
    table_.gather(indices, Rows(columns, static_cast<std::int64_t>(indices.size())));
  }
  std::vector<Hdf5Attribute> attributes() const override { return table_.attributes(); }

 private:
  std::string path_;
  Hdf5Table table_;
  FieldSpec field_;
};

class NpyColumn final : public PackColumn {
 public:
  explicit NpyColumn(const std::filesystem::path& file)
      : path_("/" + file.stem().string()), array_(file) {}

  std::string path() const override { return path_; }
  DType dtype() const override { return array_.dtype(); }
  Shape row() const override { return array_.shape().row(); }
  std::int64_t size() const override { return array_.shape()[0]; }
  void read(std::span<const std::int64_t> indices, std::byte* to) const override {
    for (std::size_t first = 0, last = 0; first < indices.size(); first = last) {
      for (last = first + 1; last < indices.size() && indices[last] == indices[last - 1] + 1;)
        ++last;
      const Tensor rows = array_.rows(indices[first], static_cast<std::int64_t>(last - first));
      std::memcpy(to + first * row_bytes(), rows.raw(), rows.bytes());
    }
  }

 private:
  std::string path_;
  NpyFile array_;
};

PackColumns arrays_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".npy")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  PackColumns columns;
  for (const auto& file : files)
    columns.push_back(std::make_unique<NpyColumn>(file));
  return columns;
}

PackColumns datasets_of(const std::filesystem::path& file, const std::vector<std::string>& named,
                        const LogCallback& log) {
  PackColumns columns;
  std::exception_ptr first;
  for (const std::string& dataset : named.empty() ? hdf5_datasets(file) : named) {
    try {
      columns.push_back(std::make_unique<TableColumnOfFile>(file, dataset, log));
    } catch (const DataError& error) {
      if (!named.empty()) throw;
      if (!first) first = std::current_exception();
      log(headrace::LogLevel::warning, fmt::format("{}: left out; {}", dataset, error.what()));
    }
  }
  if (columns.empty() && first) std::rethrow_exception(first);
  return columns;
}

}  // namespace

PackColumns open_pack_columns(const std::filesystem::path& input,
                              const std::vector<std::string>& datasets, const LogCallback& log) {
  const bool folder = std::filesystem::is_directory(input);
  if (folder && !datasets.empty()) {
    throw ConfigError("[pack] --dataset names datasets of an HDF5 file, " + input.string() +
                      " is a folder; leave it out");
  }
  PackColumns columns = folder ? arrays_in(input) : datasets_of(input, datasets, log);
  std::erase_if(columns, [](const auto& column) { return column->size() == 0; });
  if (columns.empty()) {
    throw ConfigError("[pack] " + input.string() + " must hold " +
                      (folder ? "files NAME.npy" : "datasets with rows") +
                      ", got none that can be packed; check the path");
  }
  return columns;
}

}  // namespace headrace::inline v1::app
