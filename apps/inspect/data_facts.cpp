#include <headrace/apps/inspect/data_facts.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/image/mask_survey.h>
#include <headrace/monitor/process_memory.h>

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t most_looked_at = 2000;

int median(const std::vector<int>& sorted) {
  return sorted[sorted.size() / 2];
}

void add_survey(DataFacts& facts, const ImageSource& source, const Survey& survey) {
  facts.looked_at = survey.records;
  for (const Survey::Bad& bad : survey.bad)
    facts.bad.push_back(fmt::format("{}: {}", bad.origin, bad.reason));
  if (survey.widths.empty())
    throw DataError(fmt::format("[data] {}: must hold pictures that can be read, got none; {}",
                                source.name(), facts.bad.empty() ? "it is empty" : facts.bad[0]));
  facts.width = median(survey.widths);
  facts.height = median(survey.heights);
}

void add_classes(DataFacts& facts, const ImageSource& source) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(source.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<std::int64_t> counts = count_classes(source, rows);
  for (std::size_t i = 0; i < counts.size(); ++i)
    facts.classes.emplace_back(source.classes()[i], counts[i]);
  facts.several_labels = source.multi_label();
}

// "background" of 0, "class 255" of 255. Many values are no classes but shades.
void add_masks(DataFacts& facts, const ImageSource& source) {
  const MaskSurvey masks = survey_masks(source);
  const auto name = [&](std::size_t number) {
    return number == 0 ? std::string("background") : fmt::format("class{}", number);
  };
  const auto refuse = [&](std::size_t count, const char* what) {
    throw DataError(fmt::format(
        "[data] {}: masks must hold at most 64 different {}, one for each class, got {}; save them "
        "as PNG without smoothing",
        source.name(), what, count));
  };
  if (!masks.colours.empty()) {
    if (masks.colours.size() > 64) refuse(masks.colours.size(), "colours");
    for (const auto& [colour, count] : masks.colours)
      facts.mask.classes.push_back({.name = name(facts.mask.classes.size()),
                                    .colours = {{colour[0], colour[1], colour[2]}}});
    return;
  }
  if (masks.values.size() > 64) refuse(masks.values.size(), "values");
  for (const auto& [value, count] : masks.values)
    facts.mask.classes.push_back(
        {.name = name(facts.mask.classes.size()), .values = {static_cast<int>(value)}});
  // Of many classes 255 is what nobody has marked.
  if (facts.mask.classes.size() > 2 && facts.mask.classes.back().values == std::vector<int>{255}) {
    facts.mask.classes.pop_back();
    facts.mask.ignore = {255};
  }
}

}  // namespace

DataFacts look_at_data(const DataQuestion& question, SurveyOptions options) {
  DataFacts facts{.found = question.masks ? find_masks(question.data, question.mask_folder)
                                          : find_classes(question.data)};
  const TaskData quiet{.listings = {}};
  const auto source = open_set(facts.found.train, quiet, "data.train", question.masks);
  facts.records = source->size();
  facts.groups = !source->groups().empty();
  facts.splits = !source->splits().empty();
  if (question.masks)
    add_masks(facts, *source);
  else
    add_classes(facts, *source);
  options.most = most_looked_at;
  add_survey(facts, *source, survey(*source, options));
  facts.cores = usable_cores();
  facts.memory = monitor::tightest_memory_limit(std::nullopt).bytes;
  facts.gpu = ::access("/dev/nvidiactl", F_OK) == 0;
  return facts;
}

}  // namespace headrace::inline v1::app
