#pragma once

#include <headrace/augment/volume/grid_extent.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace headrace::test {

/// A volume with two voxels of 0 on each side, asked one by one.
class PaddedVoxels {
 public:
  PaddedVoxels(const std::vector<std::uint8_t>& voxels, const GridExtent& extent)
      : sides_{extent[0] + 4, extent[1] + 4, extent[2] + 4},
        voxels_(static_cast<std::size_t>(voxels_of(sides_))) {
    std::size_t from = 0;
    for (std::int64_t z = 0; z < extent[0]; ++z)
      for (std::int64_t y = 0; y < extent[1]; ++y)
        for (std::int64_t x = 0; x < extent[2]; ++x)
          voxels_[place({z + 2, y + 2, x + 2})] = voxels[from++] != 0;
  }

  /// Pieces of voxels with that value, by flooding; `reach` is how many axes a step may go along.
  std::int64_t pieces(bool value, int reach) const {
    std::vector<bool> seen(voxels_.size());
    std::int64_t count = 0;
    for_all(0, [&](const GridExtent& at) {
      if (voxels_[place(at)] != value || seen[place(at)]) return;
      ++count;
      flood(at, reach, seen);
    });
    return count;
  }

  /// Cells of the complex of closed cubes: each is a box of sides 1 (open) and 0, which is there
  /// when one of the voxels about it is; or of vertices: when all are.
  std::int64_t euler(bool closed) const {
    std::int64_t sum = 0;
    for_all(1, [&](const GridExtent& at) {
      for (int sides = 0; sides < 8; ++sides) {
        const int wide = (sides & 1) + (sides >> 1 & 1) + (sides >> 2);
        bool any = false;
        bool all = true;
        for (int part = 0; part < 8; ++part) {
          if ((part & ~sides) != 0) continue;
          const bool there =
              voxels_[place({at[0] - (part >> 2), at[1] - (part >> 1 & 1), at[2] - (part & 1)})];
          any = any || there;
          all = all && there;
        }
        // Voxels on both sides along `wide` axes: a cube's cell of dimension 3 - wide, or one that
        // spans wide + 1 vertices.
        const int dimension = closed ? 3 - wide : wide;
        if (closed ? any : all) sum += dimension % 2 == 0 ? 1 : -1;
      }
    });
    return sum;
  }

 private:
  std::size_t place(const GridExtent& at) const {
    return static_cast<std::size_t>((at[0] * sides_[1] + at[1]) * sides_[2] + at[2]);
  }
  template <class Use>
  void for_all(std::int64_t from, const Use& use) const {
    for (std::int64_t z = from; z < sides_[0]; ++z)
      for (std::int64_t y = from; y < sides_[1]; ++y)
        for (std::int64_t x = from; x < sides_[2]; ++x)
          use({z, y, x});
  }
  void flood(const GridExtent& from, int reach, std::vector<bool>& seen) const {
    std::vector<GridExtent> left{from};
    seen[place(from)] = true;
    while (!left.empty()) {
      const GridExtent at = left.back();
      left.pop_back();
      for (int step = 0; step < 27; ++step) {
        const GridExtent by{step / 9 - 1, step / 3 % 3 - 1, step % 3 - 1};
        if (std::abs(by[0]) + std::abs(by[1]) + std::abs(by[2]) > reach) continue;
        const GridExtent to{at[0] + by[0], at[1] + by[1], at[2] + by[2]};
        bool inside = true;
        for (std::size_t axis = 0; axis < 3; ++axis)
          inside = inside && to[axis] >= 0 && to[axis] < sides_[axis];
        if (!inside || seen[place(to)] || voxels_[place(to)] != voxels_[place(from)]) continue;
        seen[place(to)] = true;
        left.push_back(to);
      }
    }
  }

  GridExtent sides_;
  std::vector<bool> voxels_;
};

}  // namespace headrace::test
