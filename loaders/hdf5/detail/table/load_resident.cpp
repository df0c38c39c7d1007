#include <headrace/loaders/hdf5/detail/table/field_reader.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/internal/scratch_pool.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t piece_bytes = std::size_t{8} << 20;

void load_contiguous(const DataFile& file, const Hdf5Dataset& dataset, std::byte* to) {
  const std::size_t element = size_of(dataset.dtype);
  const std::size_t pieces = (dataset.bytes + piece_bytes - 1) / piece_bytes;
  in_parallel(pieces, [&](std::size_t piece) {
    const std::size_t at = piece * piece_bytes;
    const std::size_t bytes = std::min(piece_bytes, dataset.bytes - at);
    file.read(to + at, bytes, dataset.offset + at);
    normalise(to + at, bytes / element, dataset.dtype, dataset.swap);
  });
}

struct ChunkScratch {
  CodecScratch codec;
  ScratchBytes chunk;
};

void load_chunks(const DataFile& file, const Hdf5Dataset& dataset, std::byte* to) {
  const ChunkGrid& grid = dataset.chunks->grid;
  ScratchPool<ChunkScratch> scratches;
  in_parallel(grid.chunks(), [&](std::size_t chunk) {
    const auto scratch = scratches.take();
    if (grid.contiguous(chunk)) {
      const auto first = static_cast<std::size_t>(grid.origin(chunk)[0]);
      return read_chunk(file, dataset, chunk, {to + first * dataset.row_bytes, grid.chunk_bytes()},
                        scratch->codec);
    }
    const std::span<std::byte> decoded = scratch->chunk.take(grid.chunk_bytes());
    read_chunk(file, dataset, chunk, decoded, scratch->codec);
    grid.copy_chunk(chunk, decoded.data(), to);
  });
}

void load_through_library(LibraryAccess& library, const Hdf5Dataset& dataset, std::byte* to) {
  if (dataset.bytes == 0) return;
  const std::size_t outer_bytes =
      dataset.row_bytes * static_cast<std::size_t>(dataset.inner_rows());
  const auto fitting = static_cast<std::int64_t>(piece_bytes / outer_bytes);
  const std::int64_t chunks = std::max<std::int64_t>(fitting / dataset.chunk_extent, 1);
  const std::int64_t step = std::min(dataset.leading[0], chunks * dataset.chunk_extent);
  const std::unique_ptr<LibraryReader> reader = library.reader(dataset, 0);
  for (std::int64_t first = 0; first < dataset.leading[0]; first += step) {
    const std::int64_t count = std::min(step, dataset.leading[0] - first);
    reader->read_places(first, count, to + static_cast<std::size_t>(first) * outer_bytes);
  }
}

}  // namespace

void load_resident(const OpenedFile& file, const Hdf5Dataset& dataset, std::byte* to) {
  if (!dataset.library.empty()) {
    load_through_library(*file.library, dataset, to);
  } else if (dataset.chunks) {
    load_chunks(*file.file, dataset, to);
  } else {
    load_contiguous(*file.file, dataset, to);
  }
  file.file->require_unchanged();
}

}  // namespace headrace::inline v1::detail
