#include <headrace/apps/inspect/data_facts.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/process_memory.h>

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
  std::vector<std::int64_t> counts(source.classes().size(), 0);
  for (const std::int64_t label : source.labels())
    ++counts[static_cast<std::size_t>(label)];
  for (std::size_t i = 0; i < counts.size(); ++i)
    facts.classes.emplace_back(source.classes()[i], counts[i]);
}

}  // namespace

DataFacts look_at_data(const DataQuestion& question, SurveyOptions options) {
  DataFacts facts{.found = question.masks ? find_masks(question.data, question.mask_folder)
                                          : find_classes(question.data)};
  const TaskData quiet{.listings = {}};
  const auto source = open_set(facts.found.train, quiet, "data.train", question.masks);
  facts.records = source->size();
  facts.groups = !source->groups().empty();
  if (!question.masks) add_classes(facts, *source);
  options.most = most_looked_at;
  add_survey(facts, *source, survey(*source, options));
  facts.cores = usable_cores();
  facts.memory = monitor::tightest_memory_limit(std::nullopt).bytes;
  facts.gpu = ::access("/dev/nvidiactl", F_OK) == 0;
  return facts;
}

}  // namespace headrace::inline v1::app
