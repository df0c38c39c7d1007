#include <headrace/loaders/hdf5/detail/library/library_rows.h>

namespace headrace::inline v1::detail {

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

}  // namespace headrace::inline v1::detail
