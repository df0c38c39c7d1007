#pragma once

#include <headrace/augment/volume/grid_extent.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::test {

/// Linear algebra modulo 2 on the edges of a small volume whose voxels are vertices.
class Chains {
 public:
  explicit Chains(const GridExtent& extent) : extent_(extent) {}

  using Chain = std::bitset<256>;

  /// How many tunnels of `inner` are still tunnels of `outer`: cycles that no squares bound.
  std::int64_t kept_tunnels(const std::vector<std::uint8_t>& inner,
                            const std::vector<std::uint8_t>& outer) const {
    std::vector<Chain> basis;
    std::int64_t bounded = 0;
    for (const Chain& square : squares(outer))
      bounded += add(basis, square);
    std::int64_t all = bounded;
    for (const Chain& cycle : cycles(inner))
      all += add(basis, cycle);
    return all - bounded;
  }

 private:
  std::size_t place(const GridExtent& at) const {
    return static_cast<std::size_t>((at[0] * extent_[1] + at[1]) * extent_[2] + at[2]);
  }
  GridExtent next(GridExtent at, std::size_t axis) const {
    ++at[axis];
    return at;
  }
  bool has(const std::vector<std::uint8_t>& mask, const GridExtent& at) const {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (at[axis] >= extent_[axis]) return false;
    return mask[place(at)] != 0;
  }
  std::size_t edge(const GridExtent& at, std::size_t axis) const { return place(at) * 3 + axis; }

  template <class Use>
  void for_all(const Use& use) const {
    for (std::int64_t z = 0; z < extent_[0]; ++z)
      for (std::int64_t y = 0; y < extent_[1]; ++y)
        for (std::int64_t x = 0; x < extent_[2]; ++x)
          use(GridExtent{z, y, x});
  }

  std::vector<Chain> squares(const std::vector<std::uint8_t>& mask) const {
    std::vector<Chain> all;
    for_all([&](const GridExtent& at) {
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t b = (a + 1) % 3;
        if (!has(mask, at) || !has(mask, next(at, a)) || !has(mask, next(at, b)) ||
            !has(mask, next(next(at, a), b)))
          continue;
        Chain square;
        square.set(edge(at, a)).set(edge(at, b));
        square.set(edge(next(at, a), b)).set(edge(next(at, b), a));
        all.push_back(square);
      }
    });
    return all;
  }

  /// A basis: what is left of edges whose ends cancel.
  std::vector<Chain> cycles(const std::vector<std::uint8_t>& mask) const {
    struct Path {
      std::bitset<256> ends;
      Chain edges;
    };
    std::vector<Path> paths;
    std::vector<Chain> closed;
    for_all([&](const GridExtent& at) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!has(mask, at) || !has(mask, next(at, axis))) continue;
        Path path;
        path.ends.set(place(at)).set(place(next(at, axis)));
        path.edges.set(edge(at, axis));
        for (const Path& other : paths) {
          if (!path.ends.test(other.ends._Find_first())) continue;
          path.ends ^= other.ends;
          path.edges ^= other.edges;
        }
        if (path.ends.any()) {
          paths.push_back(path);
        } else {
          closed.push_back(path.edges);
        }
      }
    });
    return closed;
  }

  static std::int64_t add(std::vector<Chain>& basis, Chain chain) {
    for (const Chain& other : basis)
      if (chain.test(other._Find_first())) chain ^= other;
    if (chain.none()) return 0;
    basis.push_back(chain);
    return 1;
  }

  GridExtent extent_;
};

}  // namespace headrace::test
