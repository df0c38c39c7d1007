#include <headrace/apps/jobs/picture_job.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/jobs/segmentation/propose.h>

namespace headrace::inline v1::app {

LoaderJob SegmentationConfig::loader_job() const {
  return picture_loader_job({.config = *this, .mask = mask_feed(mask)});
}

std::vector<DataPart> SegmentationConfig::data_parts() const {
  return picture_data_parts({.config = *this, .mask = mask_feed(mask)});
}

Job segmentation_job() {
  return {.name = "segmentation",
          .help = "classes of the pixels of pictures of one's own",
          .config = [] { return std::make_shared<SegmentationConfig>(); },
          .propose = propose_segmentation,
          .masks = true};
}

}  // namespace headrace::inline v1::app
