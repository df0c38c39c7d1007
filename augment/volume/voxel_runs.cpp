#include <headrace/augment/volume/detail/unions.h>
#include <headrace/augment/volume/voxel_runs.h>
#include <headrace/engine/base/error.h>

#include <bit>

namespace headrace::inline v1 {
namespace {

void check_neighbours(Neighbours neighbours) {
  if (neighbours != Neighbours::edges) return;
  throw ConfigError("[voxel runs] neighbours must be by faces or by corners, got edges");
}

/// The runs of `value` in a row, which ends within its words.
void read_row(const std::uint64_t* row, std::int64_t width, bool value,
              std::vector<VoxelRun>& runs) {
  const std::uint64_t flipped = value ? 0 : ~std::uint64_t{0};
  const std::uint64_t last = (std::uint64_t{1} << (width % 64)) - 1;
  std::uint64_t carry = 0;
  std::int32_t begin = -1;
  for (std::int64_t i = 0; i <= width / 64; ++i) {
    const std::uint64_t word = (row[i] ^ flipped) & (i == width / 64 ? last : ~std::uint64_t{0});
    std::uint64_t changes = word ^ (word << 1 | carry);
    carry = word >> 63;
    for (; changes != 0; changes &= changes - 1) {
      const auto at = static_cast<std::int32_t>(i * 64 + std::countr_zero(changes));
      if (begin >= 0) runs.push_back({begin, at});
      begin = begin < 0 ? at : -1;
    }
  }
}

/// Joins the runs of two rows that overlap, or that would if one reached `aside` voxels further.
/// Run i is member i + 1.
class RowJoiner {
 public:
  RowJoiner(const VoxelRun* runs, const std::vector<std::int32_t>& first, detail::Unions& unions)
      : runs_(runs), first_(first), unions_(unions) {}

  void join_neighbours(const GridExtent& extent, Neighbours neighbours) const {
    const bool corners = neighbours == Neighbours::corners;
    const std::int32_t aside = corners ? 1 : 0;
    const std::int64_t height = extent[1];
    for (std::int64_t row = 0; row < extent[0] * height; ++row) {
      const bool begins = row % height == 0;
      const bool ends = row % height == height - 1;
      if (!begins) join_rows(row, row - 1, aside);
      if (row < height) continue;
      join_rows(row, row - height, aside);
      if (corners && !begins) join_rows(row, row - height - 1, aside);
      if (corners && !ends) join_rows(row, row - height + 1, aside);
    }
  }

  /// Member 0 is what lies outside.
  void join_outside(const GridExtent& extent) const {
    for (std::int64_t row = 0; row < extent[0] * extent[1]; ++row) {
      const std::int64_t z = row / extent[1];
      const std::int64_t y = row % extent[1];
      const bool border = z == 0 || z == extent[0] - 1 || y == 0 || y == extent[1] - 1;
      for (std::int32_t i = first_of(row); i < first_of(row + 1); ++i)
        if (border || runs_[i].begin == 0 || runs_[i].end == extent[2]) unions_.join(0, i + 1);
    }
  }

 private:
  std::int32_t first_of(std::int64_t row) const { return first_[static_cast<std::size_t>(row)]; }

  void join_rows(std::int64_t row, std::int64_t earlier, std::int32_t aside) const {
    std::int32_t i = first_of(row);
    std::int32_t j = first_of(earlier);
    const std::int32_t end = first_of(row + 1);
    const std::int32_t earlier_end = first_of(earlier + 1);
    while (i < end && j < earlier_end) {
      const VoxelRun& one = runs_[i];
      const VoxelRun& other = runs_[j];
      if (one.begin < other.end + aside && other.begin < one.end + aside)
        unions_.join(i + 1, j + 1);
      if (other.end < one.end) {
        ++j;
      } else {
        ++i;
      }
    }
  }

  const VoxelRun* runs_;
  const std::vector<std::int32_t>& first_;
  detail::Unions& unions_;
};

}  // namespace

std::int64_t VoxelRuns::find_objects(const VoxelBits& voxels, Neighbours neighbours) {
  check_neighbours(neighbours);
  read_rows(voxels, true);
  detail::Unions unions(numbers_);
  RowJoiner(runs_.data(), first_, unions).join_neighbours(voxels.extent(), neighbours);
  return unions.number();
}

std::int64_t VoxelRuns::find_background(const VoxelBits& voxels, Neighbours neighbours) {
  check_neighbours(neighbours);
  read_rows(voxels, false);
  detail::Unions unions(numbers_);
  const RowJoiner joiner(runs_.data(), first_, unions);
  joiner.join_outside(voxels.extent());
  joiner.join_neighbours(voxels.extent(), neighbours);
  return unions.number();
}

void VoxelRuns::read_rows(const VoxelBits& voxels, bool objects) {
  const GridExtent& extent = voxels.extent();
  runs_.clear();
  first_.assign(1, 0);
  for (std::int64_t z = 0; z < extent[0]; ++z) {
    for (std::int64_t y = 0; y < extent[1]; ++y) {
      read_row(voxels.row(z, y), extent[2], objects, runs_);
      first_.push_back(static_cast<std::int32_t>(runs_.size()));
    }
  }
  numbers_.resize(runs_.size() + 1);
}

}  // namespace headrace::inline v1
