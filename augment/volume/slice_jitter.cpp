#include <headrace/augment/detail/picture.h>
#include <headrace/augment/volume/detail/occlusion.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

namespace headrace::inline v1 {
namespace {

bool same_size(const Shape& mask, const Shape& image) {
  if (mask.rank() < 3) return false;
  return std::ranges::equal(mask.extents().last(3), image.extents().last(3));
}

}  // namespace

Schema SliceJitter::schema(const Schema& in) const {
  detail::check_probability(p, name());
  if (most < 0 || most > 1000) {
    throw ConfigError("[" + name() + "] most must be 0 to 1000 voxels, got " +
                      std::to_string(most));
  }
  const FieldSpec& image = detail::voxel_field(in, field, name());
  for (const std::string& mask : masks) {
    const FieldSpec& spec = in.at(mask, name());
    if (spec.kind != FieldSpec::Kind::ragged && same_size(spec.shape, image.shape)) continue;
    throw ConfigError("[" + name() + "] mask \"" + mask + "\" must have the size of " +
                      to_string(image) + ", got " + to_string(spec));
  }
  return in;
}

void SliceJitter::operator()(Sample& sample, Random& random) const {
  detail::voxel_shape(sample, field);
  const SliceJitterParameters drawn = draw(random);
  if (!drawn.moves) return;
  const Shape shape = sample[field].shape();
  for (const std::string& mask : masks) {
    if (same_size(sample[mask].shape(), shape)) continue;
    throw DataError("mask \"" + mask + "\" must have the size of \"" + field + "\", got " +
                    to_string(sample[mask].shape()) + " for " + to_string(shape));
  }
  detail::apply(drawn, sample.edit(field));
  for (const std::string& mask : masks)
    detail::apply(drawn, sample.edit(mask));
}

SliceJitterParameters SliceJitter::draw(Random& random) const {
  if (!random.chance(p)) return {};
  return {.moves = true, .most = most, .key = {random(), random()}};
}

}  // namespace headrace::inline v1
