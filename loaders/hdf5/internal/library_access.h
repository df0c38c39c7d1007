#pragma once

#include <headrace/engine/sample/source.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Where the rows of a gather go: row k to place k of a column, or to place places[k].
struct RowTargets {
  Rows::Column column;
  const std::uint32_t* places = nullptr;

  std::byte* row(std::size_t k) const noexcept {
    return column.first + (places != nullptr ? places[k] : k) * column.stride;
  }
};

/// A row that is wanted, and where it goes.
struct SortedRow {
  std::int64_t index;
  std::byte* to;
};

/// The rows of a gather in the order of the file.
inline std::vector<SortedRow> sorted_rows(std::span<const std::int64_t> indices,
                                          const RowTargets& out) {
  std::vector<SortedRow> rows;
  rows.reserve(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    rows.push_back({indices[k], out.row(k)});
  }
  std::sort(rows.begin(), rows.end(),
            [](const SortedRow& a, const SortedRow& b) { return a.index < b.index; });
  return rows;
}

/// Whether row k is the same record as the one before it.
inline bool repeats(const std::vector<SortedRow>& rows, std::size_t k) noexcept {
  return k > 0 && rows[k].index == rows[k - 1].index;
}

/// The rows of one dataset, as the library gives them and the dtype promises. Any thread.
class LibraryReader {
 public:
  virtual ~LibraryReader() = default;

  /// Copies each row to its place. Throws DataError.
  virtual void read(std::span<const SortedRow> rows) = 0;
  /// Copies the places [first, first + count) of the first axis, one behind the other.
  virtual void read_places(std::int64_t first, std::int64_t count, std::byte* to) = 0;
  /// Memory that reading takes, at most.
  virtual std::size_t bytes() const = 0;
};

/// Which attributes are wanted.
struct AttributeRequest {
  std::vector<std::string> names;    ///< "*": all
  std::vector<std::string> objects;  ///< "/", and paths of datasets
};

/// Everything that the HDF5 library is asked about one file: in this process, or in a helper of
/// ours that a hostile file may end (see use_hdf5_helper()). Any thread. All of it throws DataError
/// for what is damaged or refused.
class LibraryAccess {
 public:
  virtual ~LibraryAccess() = default;

  /// The datasets directly in a group, by name; `path` itself where it is none.
  virtual std::vector<std::string> datasets_in(const std::string& path) = 0;
  /// Those of all groups, see hdf5_datasets().
  virtual std::vector<std::string> all_datasets() = 0;
  /// See describe_dataset().
  virtual Hdf5Dataset describe(const DatasetRequest& request) = 0;
  /// Keeps the indexes of chunks that describe() built. Returns why it could not, empty when there
  /// was nothing to tell.
  virtual std::string save_indexes() = 0;
  virtual std::vector<Hdf5Attribute> attributes(const AttributeRequest& request) = 0;
  /// Of a dataset that describe() gave. The reader must not outlive this.
  virtual std::unique_ptr<LibraryReader> reader(const Hdf5Dataset& dataset,
                                                std::size_t cache_bytes) = 0;
};

/// A file and the library's side of it.
struct OpenedFile {
  std::shared_ptr<const DataFile> file;
  std::shared_ptr<LibraryAccess> library;
};

/// Opens a file; with `keep_index`, long indexes of chunks are looked for, and kept, beside it.
/// Throws as Hdf5Table's constructor.
OpenedFile open_hdf5(const std::filesystem::path& path, const Stage& stage, bool keep_index);

/// The same always in this process.
std::shared_ptr<LibraryAccess> direct_library(std::shared_ptr<const Hdf5File> file,
                                              bool keep_index);

}  // namespace headrace::inline v1::detail
