#pragma once

#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/memory/table.h>

#include <cstddef>
#include <filesystem>

namespace headrace::inline v1 {

/// The array of an IDX file (the format of MNIST: two zero bytes, type, rank, big-endian extents,
/// elements), plain or gzip, in huge-page memory and in the byte order of the machine. The header
/// is checked before memory is taken. Throws ConfigError when there is no file, DataError naming it
/// when it is not a whole IDX file, ResourceError when it holds more than `most_bytes`.
HEADRACE_API Tensor read_idx(const std::filesystem::path& file, std::size_t most_bytes = 4_GiB);

struct IdxDatasetOptions {
  std::filesystem::path images{};  ///< [n, height, width] or any other rows
  std::filesystem::path labels{};  ///< [n], integers
  std::size_t most_bytes = 4_GiB;  ///< of either file's elements
};

/// Images and labels from a pair of IDX files: fields "image" as stored and "label" int64 [].
class HEADRACE_API IdxDataset final : public Table {
 public:
  /// Throws as read_idx(), and DataError naming both files when they do not belong together.
  explicit IdxDataset(const IdxDatasetOptions& options);
};

}  // namespace headrace::inline v1
