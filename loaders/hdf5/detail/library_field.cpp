#include <headrace/loaders/hdf5/detail/field_reader.h>
#include <headrace/loaders/hdf5/detail/library_rows.h>
#include <headrace/loaders/hdf5/detail/sorted_rows.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

/// Neighbouring rows that are read by one call.
constexpr std::size_t most_staged_bytes = std::size_t{1} << 20;

class LibraryField final : public FieldReader {
 public:
  LibraryField(std::shared_ptr<const Hdf5File> file, const Hdf5Dataset& dataset, std::size_t memory)
      : file_(std::move(file)), dataset_(dataset) {
    constexpr std::size_t chunks_kept = 4;
    const std::size_t cache = std::min(dataset.chunk_bytes * chunks_kept, memory);
    file_->thread().run([&] { rows_.emplace(*file_, dataset_, cache); });
  }

  ~LibraryField() override {
    file_->thread().run([this] { rows_.reset(); });
  }

  void gather(std::span<const std::int64_t> indices, const RowTargets& out) const override {
    const std::vector<SortedRow> rows = sorted_rows(indices, out);
    file_->thread().run([&] { read(rows); });
    file_->require_unchanged();
  }

 private:
  void read(const std::vector<SortedRow>& rows) const {
    if (dataset_.leading.size() > 1) return read_places(rows);
    const std::size_t most_rows = std::max<std::size_t>(most_staged_bytes / dataset_.row_bytes, 1);
    std::vector<std::byte> staged;
    for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
      last = first + 1;
      while (last < rows.size() && rows[last].index - rows[last - 1].index <= 1 &&
             static_cast<std::size_t>(rows[last].index - rows[first].index) < most_rows) {
        ++last;
      }
      read_neighbours({rows.data() + first, last - first}, staged);
    }
  }

  void read_places(const std::vector<SortedRow>& rows) const {
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

  std::shared_ptr<const Hdf5File> file_;
  Hdf5Dataset dataset_;
  std::optional<LibraryRows> rows_;  ///< touched on the HDF5 thread only
};

}  // namespace

std::unique_ptr<FieldReader> make_library_field(std::shared_ptr<const Hdf5File> file,
                                                const Hdf5Dataset& dataset, std::size_t memory) {
  return std::make_unique<LibraryField>(std::move(file), dataset, memory);
}

}  // namespace headrace::inline v1::detail
