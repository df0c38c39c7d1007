#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/jobs/classification/propose.h>
#include <headrace/apps/jobs/picture_job.h>

namespace headrace::inline v1::app {

LoaderJob ClassificationConfig::loader_job() const {
  return picture_loader_job({.config = *this});
}

std::vector<DataPart> ClassificationConfig::data_parts() const {
  return picture_data_parts({.config = *this});
}

Job classification_job() {
  return {.name = "classification",
          .help = "classes of pictures, features or spectrograms of one's own",
          .config = [] { return std::make_shared<ClassificationConfig>(); },
          .propose = propose_classification};
}

}  // namespace headrace::inline v1::app
