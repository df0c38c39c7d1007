#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>

#include <string>

namespace headrace::inline v1::detail {
namespace {

/// The library holds neither the one size against the other: where less is stored it would deliver
/// what lies behind it, of a compact dataset in memory, of one in one piece in the file.
void require_stored(const H5::DataSet& data, const Hdf5Dataset& dataset) {
  const hsize_t stored = data.getStorageSize();
  if (stored == dataset.bytes) return;
  throw DataError("must store the " + std::to_string(dataset.bytes) +
                  " bytes that its extents declare, got " + std::to_string(stored) +
                  "; the file is damaged, copy it again");
}

}  // namespace

void describe_compact(const DescribedPart& part, Hdf5Dataset& dataset) {
  if (dataset.bytes > 0) require_stored(part.data, dataset);
  dataset.library = "is compact";
}

void describe_contiguous(const DescribedPart& part, Hdf5Dataset& dataset) {
  if (dataset.bytes == 0) return;
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  part.data.getSpaceStatus(status);
  if (status == H5D_SPACE_STATUS_NOT_ALLOCATED) {
    dataset.library = "was never written (it reads as its fill value)";
    return;
  }
  require_stored(part.data, dataset);
  dataset.offset = part.data.getOffset();
  std::uint64_t end = 0;
  if (__builtin_add_overflow(dataset.offset, dataset.bytes, &end) || end > part.file.end()) {
    throw DataError("ends at byte " + std::to_string(end) + " but the file at " +
                    std::to_string(part.file.end()) +
                    (part.file.end() < part.file.size() ? ", as it says itself" : "") +
                    "; the file is truncated or damaged, copy it again");
  }
}

}  // namespace headrace::inline v1::detail
