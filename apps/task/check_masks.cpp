#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/check_masks.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/sample/subset.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t batch = 8;

// What `bad` does not let end a training is said, once, and refused where it is too much of all.
void tell(const std::string& first, std::int64_t left_out, std::int64_t of,
          const BadSampleSettings& bad) {
  const std::string text = fmt::format(
      "[data] {} of {} records whose masks were looked at cannot be trained on, the first: {}",
      left_out, of, first);
  if (static_cast<double>(left_out) > bad.most_share * static_cast<double>(of))
    throw DataError(text +
                    "; see the section mask, mend the data, or raise data.bad_samples.most_share");
  log_data(headrace::LogLevel::warning, text);
}

// The classes that the masks of these records hold.
std::set<std::uint8_t> classes_at(const std::shared_ptr<const Source>& source,
                                  std::vector<std::int64_t> rows, const TaskFeed& feed,
                                  const BadSampleSettings& bad) {
  const auto some = std::make_shared<const Subset>(source, std::move(rows));
  std::int64_t left_out = 0;
  std::string first;
  const auto note = [&](headrace::LogLevel level, std::string_view line) {
    if (level == headrace::LogLevel::warning && left_out++ == 0) first = line;
  };
  Loader loader = evaluation_pipeline(some, feed, batch, Device::cpu())
                      .named("masks")
                      .on_bad_sample(bad.before_training())
                      .build({.log = note});
  std::set<std::uint8_t> classes;
  for (Batch& one : loader.epoch(0)) {
    const bool* valid = one.has("valid") ? one["valid"].data<bool>() : nullptr;
    for (std::int64_t row = 0; row < one.size(); ++row)
      if (valid == nullptr || valid[row])
        for (const std::uint8_t label : one["mask"].row(row).values<std::uint8_t>())
          classes.insert(label);
  }
  if (left_out > 0) tell(first, left_out, some->size(), bad);
  classes.erase(static_cast<std::uint8_t>(ignored_label));
  return classes;
}

}  // namespace

void check_masks(const TaskRecords& records, const TaskFeed& feed, const BadSampleSettings& bad) {
  std::set<const Source*> seen;
  for (const auto& source :
       {records.train.source, records.validation.source, records.test.source}) {
    if (!seen.insert(source.get()).second) continue;
    const std::vector<std::int64_t> all = all_rows(*source);
    std::set<std::uint8_t> classes =
        classes_at(source, evenly_spread(all, most_masks_looked_at), feed, bad);
    if (classes.size() > 1 || source != records.train.source) continue;
    if (all.size() > most_masks_looked_at) classes = classes_at(source, all, feed, bad);
    if (classes.size() > 1) continue;
    throw DataError(fmt::format(
        "[data] {}: masks must hold at least two of the classes in mask.classes, got {} in all {} "
        "of them; look at the masks (headrace inspect) and at their values in mask.classes",
        source->name(), classes.empty() ? "none" : fmt::format("number {} alone", *classes.begin()),
        all.size()));
  }
}

}  // namespace headrace::inline v1::app
