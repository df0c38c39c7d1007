#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/check_masks.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/sample/subset.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

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
    std::size_t left_out = 0;
    std::string first;
    const auto note = [&](headrace::LogLevel level, std::string_view line) {
      if (level == headrace::LogLevel::warning && left_out++ == 0) first = line;
    };
    Loader loader = evaluation_pipeline(some, feed, batch, Device::cpu())
                        .named("masks")
                        .on_bad_sample(bad.before_training())
                        .build({.log = note});
    for (const Batch& one : loader.epoch(0))
      static_cast<void>(one);
    if (left_out == 0) continue;
    const std::string text = fmt::format(
        "[data] {} of {} records that masks were looked at of cannot be trained on, the "
        "first: {}",
        left_out, some->size(), first);
    if (static_cast<double>(left_out) > bad.most_share * static_cast<double>(some->size()))
      throw DataError(text +
                      "; see the section mask, mend the data, or raise "
                      "data.bad_samples.most_share");
    log_data(headrace::LogLevel::warning, text);
  }
}

}  // namespace headrace::inline v1::app
