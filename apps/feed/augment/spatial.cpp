#include <headrace/apps/feed/augment/volume.h>

#include <array>

namespace headrace::inline v1::app {
namespace {

using Range = std::array<double, 2>;

Range range_of(const DrawnRange& range) {
  return {range.least, range.most};
}

/// As keys; the defaults are nnU-Net's.
struct Spatial {
  SpatialEntry entry{.transform = SpatialTransform::nnunet()};
  std::optional<Range> angles{};
  Range scales = range_of(entry.transform.scales);
  Range anisotropies = range_of(entry.transform.anisotropies);
  Range elastic_voxels = range_of(entry.transform.elastic_voxels);
};

SpatialEntry entry_of(const Spatial& spatial) {
  SpatialEntry entry = spatial.entry;
  SpatialTransform& transform = entry.transform;
  transform.angles = SpatialTransform::nnunet(transform.flat).angles;
  if (spatial.angles) transform.angles = {(*spatial.angles)[0], (*spatial.angles)[1]};
  transform.scales = {spatial.scales[0], spatial.scales[1]};
  transform.anisotropies = {spatial.anisotropies[0], spatial.anisotropies[1]};
  transform.elastic_voxels = {spatial.elastic_voxels[0], spatial.elastic_voxels[1]};
  transform.check();
  return entry;
}

void describe_turns(Fields& fields, Spatial& spatial) {
  using Turns = SpatialTransform::Turns;
  SpatialTransform& transform = spatial.entry.transform;
  fields.key("rotation", transform.rotation, probability("probability of turning"));
  fields.key("angles", spatial.angles,
             {.doc = "least and most; null: 30 either way, 180 where flat",
              .unit = "degrees",
              .min = -180.0,
              .max = 180.0});
  fields.choice("turns", transform.turns,
                {{"every_axis", Turns::every_axis}, {"one_axis", Turns::one_axis}},
                {.doc = "an angle about each of z, y, x, or about one of them, drawn"});
}

void describe_scales(Fields& fields, Spatial& spatial) {
  const auto factor = [](std::string doc) {
    return KeyOptions{.doc = std::move(doc), .min = 0.1, .max = 10.0};
  };
  SpatialTransform& transform = spatial.entry.transform;
  fields.key("scaling", transform.scaling, probability("probability of scaling"));
  fields.key("scales", spatial.scales,
             factor("least and most: voxels of the volume in one of the patch"));
  fields.key("same_scale", transform.same_scale, {.doc = "on all axes; else one drawn for each"});
  fields.key("anisotropy", transform.anisotropy,
             probability("probability that one axis, drawn, is scaled alone"));
  fields.key("anisotropies", spatial.anisotropies, factor("least and most"));
}

void describe_bends(Fields& fields, Spatial& spatial) {
  SpatialTransform& transform = spatial.entry.transform;
  fields.key("elastic", transform.elastic, probability("probability of bending"));
  fields.key("elastic_sigma", transform.elastic_sigma,
             voxels("of the Gaussian that it is as smooth as", 1.0, 1000.0));
  fields.key("elastic_voxels", spatial.elastic_voxels,
             voxels("least and most that a place moves on an axis", 0.0, 1000.0));
}

void describe_all(Fields& fields, Spatial& spatial) {
  SpatialEntry& entry = spatial.entry;
  describe_turns(fields, spatial);
  describe_scales(fields, spatial);
  describe_bends(fields, spatial);
  fields.key("mirror", entry.transform.mirror, probability("probabilities along z, y, x"));
  fields.key("flat", entry.transform.flat,
             {.doc = "slices stay whole: turned about z alone, scaled and bent in y and x"});
  fields.choice("labels", entry.labels,
                {{"one_hot", LabelSampling::one_hot}, {"nearest", LabelSampling::nearest}},
                {.doc = "the label of most weight around a place, or the nearest voxel's"});
}

void refuse_step(const Spatial&, AugmentBuilder&) {
  throw ConfigError(
      "is for volumes, whose patches are cut out as they are read (kind: segmentation with "
      "data.train.source: volumes); remove it");
}

}  // namespace

std::optional<SpatialEntry> spatial_of(const AugmentList& list) {
  std::optional<SpatialEntry> found;
  for (const AugmentEntry& entry : list) {
    const auto* spatial = std::any_cast<Spatial>(&entry.parameters);
    if (spatial == nullptr) continue;
    at_entry(entry, [&] {
      if (&entry != &list.front()) {
        throw ConfigError(
            "must be the first entry, once, as patches are cut out before anything else is done; "
            "move it to the front");
      }
      found = entry_of(*spatial);
    });
  }
  return found;
}

namespace operations {

AugmentRow spatial() {
  return augment_row<Spatial>({.name = "spatial",
                               .doc = "patches of volumes turned, scaled, bent and mirrored in the "
                                      "one pass that cuts them out",
                               .cuts_patches = true},
                              describe_all, refuse_step);
}

}  // namespace operations
}  // namespace headrace::inline v1::app
