#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1::detail {
namespace {

/// Chunks that were never written are found by an error of the library; it need not be described
/// each time.
class SilentErrors {
 public:
  SilentErrors() {
    H5Eget_auto2(H5E_DEFAULT, &handler_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~SilentErrors() {
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, handler_, data_);
  }
  SilentErrors(const SilentErrors&) = delete;
  SilentErrors& operator=(const SilentErrors&) = delete;

 private:
  H5E_auto2_t handler_ = nullptr;
  void* data_ = nullptr;
};

/// Raw reads are noted while this lives.
class Recording {
 public:
  explicit Recording(RecordingDriver& driver) : driver_(driver) {
    driver_.take();
    driver_.start();
  }
  ~Recording() { driver_.stop(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  RecordingDriver& driver_;
};

}  // namespace

std::vector<ChunkPlace> find_chunks(const ChunkedData& in, ChunkGrid::Range chunks,
                                    std::size_t written) {
  std::vector<ChunkPlace> places(chunks.end - chunks.begin);
  const SilentErrors silent;
  const Recording recording(in.file.driver());
  std::size_t found = 0;
  for (std::size_t i = 0; i < places.size() && found < written; ++i) {
    const ChunkGrid::Coordinates first = in.grid.origin(chunks.begin + i);
    std::array<hsize_t, ChunkGrid::max_rank + 1> offset{};
    std::copy(first.begin(), first.end(), offset.begin());
    std::uint32_t skipped = 0;
    std::byte nothing{};
    if (H5Dread_chunk(in.data.getId(), H5P_DEFAULT, offset.data(), &skipped, &nothing) < 0) {
      in.file.driver().take();
      continue;
    }
    const auto extent = in.file.driver().take();
    if (!extent || extent->bytes == 0 || extent->bytes > UINT32_MAX)
      throw DataError("has a chunk whose place cannot be told; the file is damaged");
    places[i] = {extent->offset, static_cast<std::uint32_t>(extent->bytes), skipped};
    ++found;
  }
  return places;
}

std::vector<ChunkPlace> index_chunks(const ChunkedData& in) {
  hsize_t written = 0;
  const H5::DataSpace all = in.data.getSpace();
  if (H5Dget_num_chunks(in.data.getId(), all.getId(), &written) < 0)
    throw DataError("has a chunk index that cannot be read; the file is damaged");
  std::vector<ChunkPlace> places = find_chunks(in, in.grid.all(), written);
  const auto found =
      std::ranges::count_if(places, [](const ChunkPlace& place) { return place.bytes > 0; });
  if (static_cast<hsize_t>(found) != written) {
    throw DataError("has " + std::to_string(written) + " chunks in its index, of which " +
                    std::to_string(found) + " can be found; the file is damaged or truncated");
  }
  return places;
}

void require_place(const ChunkPlace& place, std::uint64_t file_bytes, std::size_t exact,
                   std::size_t most) {
  if (place.bytes == 0) return;
  if (place.offset > file_bytes || place.bytes > file_bytes - place.offset) {
    throw DataError("has a chunk of " + std::to_string(place.bytes) + " bytes at " +
                    std::to_string(place.offset) + " but the file has " +
                    std::to_string(file_bytes) + "; the file is truncated, copy it again");
  }
  if (place.bytes > most || (exact != 0 && place.bytes != exact)) {
    throw DataError("has a chunk stored in " + std::to_string(place.bytes) + " bytes where " +
                    (exact != 0 ? "exactly " : "at most ") +
                    std::to_string(exact != 0 ? exact : most) + " belong; the file is damaged");
  }
}

void require_places(const std::vector<ChunkPlace>& places, std::uint64_t file_bytes,
                    std::size_t exact, std::size_t most) {
  for (const ChunkPlace& place : places)
    require_place(place, file_bytes, exact, most);
}

}  // namespace headrace::inline v1::detail
