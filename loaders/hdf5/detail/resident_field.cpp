#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <headrace/engine/error.h>
#include <headrace/engine/huge_pages.h>
#include <headrace/engine/runtime.h>
#include <headrace/loaders/hdf5/detail/field_reader.h>
#include <headrace/loaders/memory/detail/gather_rows.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t piece_bytes = std::size_t{8} << 20;

class ResidentField final : public FieldReader {
 public:
  ResidentField(Tensor rows, std::size_t row_bytes)
      : rows_(std::move(rows)), row_bytes_(row_bytes) {}

  void gather(std::span<const std::int64_t> indices, Rows::Column out) const override {
    gather_rows(static_cast<const std::byte*>(rows_.raw()), row_bytes_, indices, out);
  }
  const Tensor* resident() const override { return &rows_; }

 private:
  Tensor rows_;
  std::size_t row_bytes_;
};

/// Calls work(i) for i in [0, count) on a few threads of its own; the first exception is thrown.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto serve = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++)
        work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  constexpr std::size_t most_threads = 8;
  const std::size_t threads =
      std::min({count, most_threads, static_cast<std::size_t>(usable_cores())});
  {
    std::vector<std::jthread> crew;
    for (std::size_t i = 1; i < threads; ++i)
      crew.emplace_back(serve);
    serve();
  }
  if (error) std::rethrow_exception(error);
}

void load_contiguous(const Hdf5File& file, const Hdf5Dataset& dataset, std::byte* to) {
  const std::size_t element = size_of(dataset.dtype);
  const std::size_t pieces = (dataset.bytes + piece_bytes - 1) / piece_bytes;
  in_parallel(pieces, [&](std::size_t piece) {
    const std::size_t at = piece * piece_bytes;
    const std::size_t bytes = std::min(piece_bytes, dataset.bytes - at);
    file.read(to + at, bytes, dataset.offset + at);
    normalise(to + at, bytes / element, dataset.dtype, dataset.swap);
  });
}

void load_through_library(const Hdf5File& file, const Hdf5Dataset& dataset, std::byte* to) {
  const auto fitting = static_cast<std::int64_t>(piece_bytes / dataset.row_bytes);
  const std::int64_t chunks = std::max<std::int64_t>(fitting / dataset.chunk_rows, 1);
  const std::int64_t step = std::min(dataset.rows, chunks * dataset.chunk_rows);
  file.thread().run([&] {
    const H5::DataSet data = open_dataset(file, dataset.path);
    for (std::int64_t first = 0; first < dataset.rows; first += step) {
      const std::int64_t count = std::min(step, dataset.rows - first);
      std::byte* rows = to + static_cast<std::size_t>(first) * dataset.row_bytes;
      read_rows(data, first, count, rows);
      normalise(rows, dataset.elements(count), dataset.dtype, dataset.swap);
    }
  });
}

}  // namespace

std::unique_ptr<FieldReader> make_resident_field(const Hdf5File& file, const Hdf5Dataset& dataset) {
  Tensor rows = huge_zeros(dataset.dtype, dataset.row.batched(dataset.rows));
  auto* to = static_cast<std::byte*>(rows.raw());
  if (dataset.library.empty()) {
    load_contiguous(file, dataset, to);
  } else {
    load_through_library(file, dataset, to);
  }
  file.require_unchanged();
  return std::make_unique<ResidentField>(std::move(rows), dataset.row_bytes);
}

}  // namespace headrace::inline v1::detail
