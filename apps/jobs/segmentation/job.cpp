#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/jobs/segmentation/propose.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/volume_job.h>

namespace headrace::inline v1::app {

LoaderJob SegmentationConfig::loader_job() const {
  if (volumes()) return volume_loader_job(*this);
  return picture_loader_job({.config = *this, .mask = mask_feed(mask)});
}

std::vector<DataPart> SegmentationConfig::data_parts() const {
  if (volumes()) return volume_data_parts(*this);
  return picture_data_parts({.config = *this, .mask = mask_feed(mask)});
}

void SegmentationConfig::check_data() const {
  if (volumes()) return check_volume_data(*this);
  check_picture_data({.config = *this, .mask = mask_feed(mask)});
}

Job segmentation_job() {
  return {.name = "segmentation",
          .help = "classes of the pixels of pictures, or the voxels of volumes, of one's own",
          .config = [] { return std::make_shared<SegmentationConfig>(); },
          .propose = propose_segmentation,
          .propose_folder = propose_volumes,
          .masks = true};
}

}  // namespace headrace::inline v1::app
