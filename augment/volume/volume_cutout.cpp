#include <headrace/augment/detail/picture.h>
#include <headrace/augment/volume/detail/occlusion.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

namespace headrace::inline v1 {

Schema VolumeCutout::schema(const Schema& in) const {
  detail::check_probability(p, name());
  if (boxes < 1 || boxes > most_cutouts) {
    throw ConfigError("[" + name() + "] boxes must be 1 to 16, got " + std::to_string(boxes));
  }
  if (side[0] < 1 || side[1] < side[0]) {
    throw ConfigError("[" + name() + "] side must be 1 <= least <= most, got " +
                      std::to_string(side[0]) + ", " + std::to_string(side[1]));
  }
  detail::voxel_field(in, field, name());
  return in;
}

void VolumeCutout::operator()(Sample& sample, Random& random) const {
  const detail::Voxels shape = detail::voxel_shape(sample, field);
  const auto drawn = draw({shape.depth, shape.height, shape.width}, random);
  if (drawn.count > 0) detail::apply(drawn, detail::edit_voxels(sample, field));
}

VolumeCutoutParameters VolumeCutout::draw(const std::array<std::int64_t, 3>& sides,
                                          Random& random) const {
  VolumeCutoutParameters drawn;
  if (!random.chance(p)) return drawn;
  drawn.fill = fill;
  drawn.count = boxes;
  for (int i = 0; i < boxes; ++i) {
    VoxelBox& box = drawn.boxes[static_cast<std::size_t>(i)];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t wanted = side[0] + random.below(side[1] - side[0] + 1);
      box.size[axis] = std::min(wanted, sides[axis]);
      box.from[axis] = random.below(sides[axis] - box.size[axis] + 1);
    }
  }
  return drawn;
}

}  // namespace headrace::inline v1
