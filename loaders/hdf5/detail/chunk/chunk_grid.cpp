#include <headrace/loaders/hdf5/detail/chunk/chunk_grid.h>
#include <headrace/loaders/hdf5/detail/dataset/number_list.h>

#include <algorithm>
#include <cstring>

namespace headrace::inline v1::detail {

/// Part of an array whose strides differ on the two sides.
struct ChunkGrid::Box {
  std::size_t rank;
  const std::uint64_t* extents;
  const std::uint64_t* from_steps;
  const std::uint64_t* to_steps;
  std::size_t element_bytes;

  void copy(const std::byte* from, std::byte* to) const noexcept {
    std::size_t axes = rank;
    std::size_t run = element_bytes;
    while (axes > 0 && from_steps[axes - 1] == run && to_steps[axes - 1] == run)
      run *= extents[--axes];
    copy(0, axes, run, from, to);
  }

 private:
  void copy(std::size_t axis, std::size_t axes, std::size_t run, const std::byte* from,
            std::byte* to) const noexcept {
    if (axis == axes) {
      std::memcpy(to, from, run);
      return;
    }
    for (std::uint64_t i = 0; i < extents[axis]; ++i)
      copy(axis + 1, axes, run, from + i * from_steps[axis], to + i * to_steps[axis]);
  }
};

ChunkGrid::ChunkGrid(const Layout& layout)
    : rank_(layout.extents.size()), leading_(layout.leading), element_bytes_(layout.element_bytes) {
  std::copy(layout.extents.begin(), layout.extents.end(), extents_.begin());
  std::copy(layout.chunk.begin(), layout.chunk.end(), chunk_.begin());
  std::size_t inside = element_bytes_, outside = element_bytes_;
  for (std::size_t axis = rank_; axis-- > 0;) {
    if (axis + 1 == leading_) row_bytes_ = outside;
    along_[axis] = (extents_[axis] + chunk_[axis] - 1) / chunk_[axis];
    by_extent_[axis] = Divider(std::max<std::uint64_t>(extents_[axis], 1));
    by_chunk_[axis] = Divider(chunk_[axis]);
    chunk_steps_[axis] = chunks_;
    inside_[axis] = inside;
    outside_[axis] = outside;
    chunks_ *= along_[axis];
    inside *= chunk_[axis];
    outside *= extents_[axis];
    if (axis < leading_) continue;
    pieces_ *= along_[axis];
    whole_rows_ = whole_rows_ && chunk_[axis] == extents_[axis];
  }
  chunk_bytes_ = inside;
}

std::int64_t ChunkGrid::chunk_rows() const noexcept {
  std::uint64_t rows = 1;
  for (std::size_t axis = 0; axis < leading_; ++axis)
    rows *= std::min(chunk_[axis], std::max<std::uint64_t>(extents_[axis], 1));
  return static_cast<std::int64_t>(rows);
}

ChunkGrid::Place ChunkGrid::place(std::int64_t row) const noexcept {
  auto rest = static_cast<std::uint64_t>(row);
  Place place{0, 0};
  for (std::size_t axis = leading_; axis-- > 0;) {
    std::uint64_t at = rest;
    if (axis > 0) {
      rest = by_extent_[axis](at);
      at -= rest * extents_[axis];
    }
    const std::uint64_t along = by_chunk_[axis](at);
    place.chunk += along * chunk_steps_[axis];
    place.offset += (at - along * chunk_[axis]) * inside_[axis];
  }
  return place;
}

ChunkGrid::Range ChunkGrid::of_row(std::int64_t row) const noexcept {
  const std::size_t first = place(row).chunk;
  return {first, first + pieces_};
}

ChunkGrid::Range ChunkGrid::of_places(std::int64_t first, std::int64_t count) const noexcept {
  const auto begin = static_cast<std::uint64_t>(first);
  const std::uint64_t last = begin + static_cast<std::uint64_t>(count) - 1;
  return {begin / chunk_[0] * chunk_steps_[0], (last / chunk_[0] + 1) * chunk_steps_[0]};
}

void ChunkGrid::copy_piece(std::size_t piece, const std::byte* from,
                           std::byte* row) const noexcept {
  Coordinates extents{};
  std::byte* to = row;
  for (std::size_t axis = rank_; axis-- > leading_;) {
    const std::uint64_t first = piece % along_[axis] * chunk_[axis];
    piece /= along_[axis];
    extents[axis] = std::min(chunk_[axis], extents_[axis] - first);
    to += first * outside_[axis];
  }
  Box{rank_ - leading_, extents.data() + leading_, inside_.data() + leading_,
      outside_.data() + leading_, element_bytes_}
      .copy(from, to);
}

void ChunkGrid::copy_chunk(std::size_t chunk, const std::byte* from,
                           std::byte* rows) const noexcept {
  const Coordinates first = origin(chunk);
  Coordinates extents{};
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    extents[axis] = std::min(chunk_[axis], extents_[axis] - first[axis]);
    rows += first[axis] * outside_[axis];
  }
  Box{rank_, extents.data(), inside_.data(), outside_.data(), element_bytes_}.copy(from, rows);
}

ChunkGrid::Coordinates ChunkGrid::origin(std::size_t chunk) const noexcept {
  Coordinates first{};
  for (std::size_t axis = 0; axis < rank_; ++axis)
    first[axis] = chunk / chunk_steps_[axis] % along_[axis] * chunk_[axis];
  return first;
}

std::string ChunkGrid::name(std::size_t chunk) const {
  const Coordinates first = origin(chunk);
  return number_list({first.data(), rank_});
}

bool ChunkGrid::partial(std::size_t chunk) const noexcept {
  const Coordinates first = origin(chunk);
  for (std::size_t axis = 0; axis < rank_; ++axis)
    if (first[axis] + chunk_[axis] > extents_[axis]) return true;
  return false;
}

}  // namespace headrace::inline v1::detail
