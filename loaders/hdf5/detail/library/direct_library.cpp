#include <headrace/engine/base/internal/home_process.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>
#include <headrace/loaders/hdf5/detail/library/library_lists.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {
namespace {

/// A dataset whose rows the library reads, as stored; chunks are checked as they come, see
/// ChunkGuard. On the HDF5 thread only, its end too. File and dataset must outlive it.
class LibraryRows {
 public:
  /// With a chunk cache of `cache_bytes` (0: the library's default).
  LibraryRows(const Hdf5File& file, const Hdf5Dataset& dataset, std::size_t cache_bytes = 0);
  ~LibraryRows();
  LibraryRows(const LibraryRows&) = delete;
  LibraryRows& operator=(const LibraryRows&) = delete;

  /// Places [first, first + count) of the first axis. Throws DataError.
  void read(std::int64_t first, std::int64_t count, void* to) const;
  /// One row of a dataset with several leading axes.
  void read_row(std::int64_t row, void* to) const;

 private:
  using Extents = std::array<hsize_t, H5S_MAX_RANK>;
  struct Block {
    Extents start{}, extents{};
  };

  /// Chunks are those that the block lies in.
  void read(const Block& block, ChunkGrid::Range chunks, void* to) const;

  const Hdf5File& file_;
  const Hdf5Dataset& dataset_;
  H5::DataSet data_;
  std::shared_ptr<ChunkGuard> guard_;  ///< null where there are no chunks
};

LibraryRows::LibraryRows(const Hdf5File& file, const Hdf5Dataset& dataset, std::size_t cache_bytes)
    : file_(file), dataset_(dataset), data_(open_dataset(file, dataset.path, cache_bytes)) {
  if (!dataset.guarded) return;
  guard_ = std::make_shared<ChunkGuard>(file, dataset);
  file.driver().guard(file.descriptor(), guard_);
}

LibraryRows::~LibraryRows() {
  if (guard_) file_.driver().release(*guard_);
}

void LibraryRows::read(std::int64_t first, std::int64_t count, void* to) const {
  Block block;
  data_.getSpace().getSimpleExtentDims(block.extents.data());
  block.start[0] = static_cast<hsize_t>(first);
  block.extents[0] = static_cast<hsize_t>(count);
  read(block, guard_ ? dataset_.guarded->grid.of_places(first, count) : ChunkGrid::Range{}, to);
}

void LibraryRows::read_row(std::int64_t row, void* to) const {
  Block block;
  data_.getSpace().getSimpleExtentDims(block.extents.data());
  std::int64_t rest = row;
  for (std::size_t axis = dataset_.leading.size(); axis-- > 0;) {
    block.start[axis] = static_cast<hsize_t>(rest % dataset_.leading[axis]);
    block.extents[axis] = 1;
    rest /= dataset_.leading[axis];
  }
  read(block, guard_ ? dataset_.guarded->grid.of_row(row) : ChunkGrid::Range{}, to);
}

void LibraryRows::read(const Block& block, ChunkGrid::Range chunks, void* to) const {
  if (guard_) guard_->expect(data_, chunks);
  const H5::DataSpace place = data_.getSpace();
  place.selectHyperslab(H5S_SELECT_SET, block.extents.data(), block.start.data());
  const H5::DataSpace memory(place.getSimpleExtentNdims(), block.extents.data());
  try {
    data_.read(to, data_.getDataType(), memory, place);  // the stored type: no conversion
  } catch (const H5::Exception&) {
    file_.driver().rethrow_refusal();
    throw;
  }
}

/// Neighbouring rows that are read by one call.
constexpr std::size_t most_staged_bytes = std::size_t{1} << 20;

class DirectReader final : public LibraryReader {
 public:
  DirectReader(const Hdf5File& file, const Hdf5Dataset& dataset, std::size_t cache_bytes)
      : file_(file), dataset_(dataset), cache_bytes_(cache_bytes) {
    file_.thread().run(
        [&] { rows_ = std::make_unique<LibraryRows>(file_, dataset_, cache_bytes); });
  }
  ~DirectReader() override { end_on(file_.thread(), home_, rows_); }

  void read(std::span<const SortedRow> rows) override {
    file_.thread().run([&] { read_runs(rows); });
    file_.require_all_unchanged();
  }

  void read_places(std::int64_t first, std::int64_t count, std::byte* to) override {
    file_.thread().run([&] {
      rows_->read(first, count, to);
      normalise(to, dataset_.elements(count * dataset_.inner_rows()), dataset_.dtype,
                dataset_.swap);
    });
    file_.require_all_unchanged();
  }
  std::size_t bytes() const override { return cache_bytes_; }

 private:
  void read_runs(std::span<const SortedRow> rows) const {
    if (dataset_.leading.size() > 1) return read_one_by_one(rows);
    const std::size_t most_rows = std::max<std::size_t>(most_staged_bytes / dataset_.row_bytes, 1);
    std::vector<std::byte> staged;
    for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
      last = first + 1;
      while (last < rows.size() && rows[last].index - rows[last - 1].index <= 1 &&
             static_cast<std::size_t>(rows[last].index - rows[first].index) < most_rows) {
        ++last;
      }
      read_neighbours(rows.subspan(first, last - first), staged);
    }
  }

  void read_one_by_one(std::span<const SortedRow> rows) const {
    for (const SortedRow& row : rows) {
      rows_->read_row(row.index, row.to);
      normalise(row.to, dataset_.elements(1), dataset_.dtype, dataset_.swap);
    }
  }

  void read_neighbours(std::span<const SortedRow> rows, std::vector<std::byte>& staged) const {
    const std::int64_t first = rows.front().index;
    const std::int64_t count = rows.back().index - first + 1;
    std::byte* from = rows.front().to;
    if (rows.size() > 1) {
      staged.resize(static_cast<std::size_t>(count) * dataset_.row_bytes);
      from = staged.data();
    }
    rows_->read(first, count, from);
    normalise(from, dataset_.elements(count), dataset_.dtype, dataset_.swap);
    if (rows.size() == 1) return;
    for (const SortedRow& row : rows) {
      const auto at = static_cast<std::size_t>(row.index - first) * dataset_.row_bytes;
      std::memcpy(row.to, from + at, dataset_.row_bytes);
    }
  }

  const Hdf5File& file_;
  const Hdf5Dataset dataset_;
  std::size_t cache_bytes_;
  HomeProcess home_;
  std::unique_ptr<LibraryRows> rows_;  // touched on the HDF5 thread only
};

class DirectLibrary final : public LibraryAccess {
 public:
  DirectLibrary(std::shared_ptr<const Hdf5File> file, bool keep_index)
      : file_(std::move(file)), indexes_(*file_, keep_index) {}

  std::vector<std::string> datasets_in(const std::string& path) override {
    return list_group(*file_, path);
  }
  std::vector<std::string> all_datasets() override { return list_datasets(*file_); }
  Hdf5Dataset describe(const DatasetRequest& request) override {
    return describe_dataset(*file_, request, indexes_);
  }
  std::string save_indexes() override { return indexes_.save(); }
  std::vector<Hdf5Attribute> attributes(const AttributeRequest& request) override {
    return read_attributes(*file_, request);
  }
  std::unique_ptr<LibraryReader> reader(const Hdf5Dataset& dataset,
                                        std::size_t cache_bytes) override {
    return std::make_unique<DirectReader>(*file_, dataset, cache_bytes);
  }

 private:
  std::shared_ptr<const Hdf5File> file_;
  ChunkIndexes indexes_;
};

}  // namespace

std::shared_ptr<LibraryAccess> direct_library(std::shared_ptr<const Hdf5File> file,
                                              bool keep_index) {
  return std::make_shared<DirectLibrary>(std::move(file), keep_index);
}

}  // namespace headrace::inline v1::detail
