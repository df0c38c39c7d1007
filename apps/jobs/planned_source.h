#pragma once

#include <headrace/engine/source.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace headrace::inline v1::app {

/// A source that can be planned with before it takes memory.
struct PlannedSource {
  /// Same fields and size as what open() gives, but nothing of the data is in memory.
  std::shared_ptr<const Source> outline;
  std::size_t resident_bytes = 0;  ///< What open() will keep in memory beyond the outline.
  std::function<std::shared_ptr<const Source>()> open;
};

/// Plans an HDF5 table: opens the file without reading rows. Throws what Hdf5Table throws.
PlannedSource plan_table(const Hdf5TableOptions& options);

}  // namespace headrace::inline v1::app
