#include <headrace/apps/feed/augment/volume.h>
#include <headrace/augment/volume/distance_transform.h>

namespace headrace::inline v1::app::operations {
namespace {

struct Distance {
  DistanceTransform op{};
  std::optional<double> most{};
  LabelStep step{};
};

}  // namespace

AugmentRow distance_transform() {
  return augment_row<Distance>(
      {.name = "distance_transform",
       .doc = "adds the distance of every voxel to the nearest of some labels, float32"},
      [](Fields& fields, Distance& distance) {
        fields.key("labels", distance.op.labels, {.doc = "to these; []: to all but 0 and ignore"});
        fields.key(
            "spacing", distance.op.spacing,
            {.doc = "of voxels along z, y, x; what distances are in", .min = 1e-6, .max = 1e6});
        fields.key("most", distance.most,
                   {.doc = "distances beyond are this; null: exact everywhere", .above = 0.0});
        fields.key("to", distance.op.to, {.doc = "name of the field"});
        describe(fields, distance.step);
      },
      [](Distance distance, AugmentBuilder& builder) {
        if (distance.most) distance.op.most = *distance.most;
        add_of_labels(distance.op, distance.step, 1, builder);
      });
}

}  // namespace headrace::inline v1::app::operations
