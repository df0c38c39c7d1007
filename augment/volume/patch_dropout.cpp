#include <headrace/augment/detail/picture.h>
#include <headrace/augment/volume/detail/occlusion.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdint>

namespace headrace::inline v1 {
namespace {

std::int64_t cells_along(std::int64_t side, int cell) {
  return (side + cell - 1) / cell;
}

std::int64_t count_cells(const std::array<std::int64_t, 3>& sides, const std::array<int, 3>& cell) {
  double count = 1;  // sides may be hostile
  for (std::size_t axis = 0; axis < 3; ++axis)
    count *= static_cast<double>(cells_along(sides[axis], cell[axis]));
  return static_cast<std::int64_t>(std::min(count, 1e9));
}

}  // namespace

Schema PatchDropout::schema(const Schema& in) const {
  detail::check_probability(p, name());
  detail::check_probability(least_kept, name(), "least_kept");
  for (int side : cell) {
    if (side >= 1 && side <= 1 << 20) continue;
    throw ConfigError("[" + name() + "] cell must have sides of 1 voxel and more, got " +
                      std::to_string(side));
  }
  const Shape& shape = detail::voxel_field(in, field, name()).shape;
  const std::int64_t count = count_cells({shape[1], shape[2], shape[3]}, cell);
  if (count > most_dropout_cells) {
    throw ConfigError("[" + name() + "] there may be 4096 cells, got " + std::to_string(count) +
                      "; make cell larger");
  }
  return in;
}

void PatchDropout::operator()(Sample& sample, Random& random) const {
  const detail::Voxels shape = detail::voxel_shape(sample, field);
  const auto drawn = draw({shape.depth, shape.height, shape.width}, random);
  if (drawn.count > 0) detail::apply(drawn, detail::edit_voxels(sample, field));
}

PatchDropoutParameters PatchDropout::draw(const std::array<std::int64_t, 3>& sides,
                                          Random& random) const {
  PatchDropoutParameters drawn;
  const std::int64_t count = count_cells(sides, cell);
  if (count > most_dropout_cells) {
    throw DataError("[" + name() + "] there may be 4096 cells, got " + std::to_string(count));
  }
  if (!random.chance(p)) return drawn;
  drawn.fill = fill;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    drawn.cell[axis] = cell[axis];
    drawn.cells[axis] = cells_along(sides[axis], cell[axis]);
  }
  const double share = (1 - least_kept) * random.uniform();
  drawn.count = static_cast<std::int64_t>(share * static_cast<double>(count));
  std::int64_t wanted = drawn.count;
  for (std::int64_t i = 0; i < count && wanted > 0; ++i) {  // selection sampling
    if (random.below(count - i) >= wanted) continue;
    drawn.dropped[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
    --wanted;
  }
  return drawn;
}

}  // namespace headrace::inline v1
