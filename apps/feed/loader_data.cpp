#include <headrace/apps/feed/loader_data.h>
#include <headrace/apps/feed/loader_pipeline.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/engine/sample/subset.h>

#include <utility>

namespace headrace::inline v1::app {

DataPart loader_data_part(const LoaderConfig& config) {
  const auto records = make_loader_job(config).source.outline;
  return {.records = records,
          .fields = records->fields(),
          .fed =
              [config, records](std::vector<std::int64_t> places) {
                return sheet_pipeline(config, records, std::move(places));
              },
          .normalizes = normalizes(config.augment)};
}

Pipeline sheet_pipeline(LoaderConfig config, const std::shared_ptr<const Source>& source,
                        std::vector<std::int64_t> places) {
  config.augment = before_normalizing(std::move(config.augment));
  config.data.cache = {};
  config.image.decode = Device::Kind::cpu;
  config.shuffle = false;
  config.drop_last = false;
  const auto rows = std::make_shared<const Subset>(source, std::move(places));
  return make_loader_pipeline(config, rows, class_count(*source));
}

}  // namespace headrace::inline v1::app
