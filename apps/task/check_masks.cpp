#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/check_masks.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/sample/subset.h>

#include <cstddef>
#include <memory>
#include <set>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_masks = 1000;
constexpr std::int64_t batch = 8;

}  // namespace

void check_masks(const TaskRecords& records, const TaskFeed& feed, const BadSampleSettings& bad) {
  std::set<const Source*> seen;
  for (const auto& source :
       {records.train.source, records.validation.source, records.test.source}) {
    if (!seen.insert(source.get()).second) continue;
    const auto some =
        std::make_shared<const Subset>(source, evenly_spread(all_rows(*source), most_masks));
    Loader loader = evaluation_pipeline(some, feed, batch, Device::cpu())
                        .named("masks")
                        .on_bad_sample(bad.before_training())
                        .build({.log = &warn_of_data});
    for (const Batch& one : loader.epoch(0))
      static_cast<void>(one);
  }
}

}  // namespace headrace::inline v1::app
