#pragma once

#include <headrace/engine/base/internal/divider.h>
#include <headrace/engine/tensor/shape.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// How an array is cut into chunks of one shape, and where a row of it lies: a row is one place of
/// the leading axes, all of the others. Chunks are numbered in row-major order of their places and
/// are full size in memory, those on the far edges too. Sizes must have been checked: their
/// products fit into 63 bits.
class ChunkGrid {
 public:
  static constexpr std::size_t max_rank = Shape::max_rank;

  struct Layout {
    std::span<const std::uint64_t> extents;
    std::span<const std::uint64_t> chunk;  ///< as many
    std::size_t leading = 1;               ///< axes that count rows
    std::size_t element_bytes = 1;
  };
  explicit ChunkGrid(const Layout& layout);
  /// What it was made of; lives as long as the grid.
  Layout layout() const noexcept {
    return {.extents = {extents_.data(), rank_},
            .chunk = {chunk_.data(), rank_},
            .leading = leading_,
            .element_bytes = element_bytes_};
  }

  std::size_t chunks() const noexcept { return chunks_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  /// Rows of the array whose first part lies in one full chunk.
  std::int64_t chunk_rows() const noexcept;
  /// Chunks that a row is spread over.
  std::size_t pieces() const noexcept { return pieces_; }
  /// Whether every row lies in one chunk in one stretch.
  bool whole_rows() const noexcept { return whole_rows_; }

  /// Where a piece of a row begins.
  struct Place {
    std::size_t chunk;
    std::size_t offset;  ///< bytes in it
  };
  /// The first piece; those after it have the same offset in the chunks that follow.
  Place place(std::int64_t row) const noexcept;
  /// Numbers of chunks: from the first to behind the last.
  struct Range {
    std::size_t begin, end;
  };
  Range all() const noexcept { return {0, chunks_}; }
  /// Those of a row.
  Range of_row(std::int64_t row) const noexcept;
  /// Those of the places [first, first + count) of the first axis; `count` > 0.
  Range of_places(std::int64_t first, std::int64_t count) const noexcept;
  /// Copies a piece: `from` is its place in the chunk, `row` the first byte of the row.
  void copy_piece(std::size_t piece, const std::byte* from, std::byte* row) const noexcept;
  /// Copies what of a chunk lies inside the array to its places in the array's rows.
  void copy_chunk(std::size_t chunk, const std::byte* from, std::byte* rows) const noexcept;

  using Coordinates = std::array<std::uint64_t, max_rank>;
  std::size_t rank() const noexcept { return rank_; }
  /// First element of a chunk.
  Coordinates origin(std::size_t chunk) const noexcept;
  /// That in words: "[64, 0]".
  std::string name(std::size_t chunk) const;
  /// Whether part of the chunk lies outside the array.
  bool partial(std::size_t chunk) const noexcept;
  /// Whether the chunk is a contiguous part of the array's rows.
  bool contiguous(std::size_t chunk) const noexcept {
    return whole_rows_ && leading_ == 1 && !partial(chunk);
  }

 private:
  struct Box;

  std::size_t rank_;
  std::size_t leading_;
  std::size_t element_bytes_;
  Coordinates extents_{}, chunk_{};
  Coordinates along_{};        ///< chunks along an axis
  Coordinates chunk_steps_{};  ///< numbers from a chunk to the next along an axis
  Coordinates inside_{};       ///< bytes in a chunk from an element to the next along an axis
  Coordinates outside_{};      ///< the same in the array
  std::array<Divider, max_rank> by_extent_{}, by_chunk_{};
  std::size_t chunks_ = 1;
  std::size_t chunk_bytes_ = 0;
  std::size_t row_bytes_ = 0;
  std::size_t pieces_ = 1;
  bool whole_rows_ = true;
};

}  // namespace headrace::inline v1::detail
