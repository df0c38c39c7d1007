#include <headrace/apps/new/look_at_groups.h>
#include <headrace/apps/new/look_at_masks.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/array_values.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t most_looked_at = 2000;

int median(const std::vector<int>& sorted) {
  return sorted[sorted.size() / 2];
}

void add_bad(std::vector<std::string>& all, const Survey& survey) {
  for (const Survey::Bad& bad : survey.bad)
    all.push_back(fmt::format("{}: {}", bad.origin, bad.reason));
}

void add_survey(DataFacts& facts, const ImageSource& source, const Survey& survey) {
  facts.looked_at = survey.records;
  facts.dim = survey.dim;
  add_bad(facts.bad, survey);
  if (survey.widths.empty())
    throw DataError(fmt::format("[data] {}: must hold pictures that can be read, got none; {}",
                                source.name(), facts.bad.empty() ? "it is empty" : facts.bad[0]));
  facts.width = median(survey.widths);
  facts.height = median(survey.heights);
}

void add_classes(DataFacts& facts, const LabelledSource& source) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(source.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<std::int64_t> counts = count_classes(source, rows);
  for (std::size_t i = 0; i < counts.size(); ++i)
    facts.classes.emplace_back(source.classes()[i], counts[i]);
  facts.several_labels = source.multi_label();
}

GivenParts open_parts(const DataFacts& facts, bool masks, const std::vector<std::string>& classes) {
  const TaskData quiet{.listings = {}, .follow_links = facts.follow_links};
  GivenParts parts;
  if (facts.found.validation)
    parts["data.validation"] =
        open_set(*facts.found.validation, quiet, "data.validation", masks, classes).source;
  if (facts.found.test)
    parts["data.test"] = open_set(*facts.found.test, quiet, "data.test", masks, classes).source;
  return parts;
}

// The masks of all parts.
void add_masks(DataFacts& facts, const std::shared_ptr<const LabelledSource>& train,
               const GivenParts& given, int threads) {
  std::vector<std::shared_ptr<const ImageSource>> parts;
  const auto add = [&](const std::shared_ptr<const LabelledSource>& part) {
    parts.push_back(std::dynamic_pointer_cast<const ImageSource>(part));
  };
  add(train);
  for (const auto& [section, part] : given)
    add(part);
  MaskFacts masks = look_at_masks(parts, threads);
  facts.mask = std::move(masks.settings);
  facts.of_masks = std::move(masks.lines);
}

// Why a record cannot be trained on; empty: it can.
std::string fault_of(const Source& records, std::int64_t row, Sample& sample) {
  try {
    records.read(row, sample);
  } catch (const DataError& error) {
    return error.what();
  }
  bool finite = true;
  for_each_value(sample[array_field],
                 [&](std::size_t, double value) { finite = finite && std::isfinite(value); });
  return finite ? "" : "must hold finite values, got infinite ones or nan";
}

// How many were looked at.
std::int64_t add_bad(std::vector<std::string>& all, const LabelledSource& source) {
  const auto rows = evenly_spread(all_rows(source), most_looked_at);
  Sample sample;
  for (const std::int64_t row : rows) {
    const std::string fault = fault_of(source, row, sample);
    if (!fault.empty()) all.push_back(fmt::format("{}: {}", source.origin(row), fault));
  }
  return std::ssize(rows);
}

void add_arrays(DataFacts& facts, const LabelledSource& source) {
  const FieldSpec& field = source.fields().at(array_field);
  const bool lengths_differ = field.kind == FieldSpec::Kind::padded && field.shape.rank() > 1;
  record_shape(source, {.frames = lengths_differ ? std::optional<std::int64_t>(1) : std::nullopt});
  facts.array = ArrayFacts{.record = source.fields().at(array_field)};
  ArrayFacts& array = *facts.array;
  const std::size_t line =
      array.record.row_bytes() /
      static_cast<std::size_t>(array.record.shape[array.record.shape.rank() - 1]);
  std::vector<int> lengths;
  for (std::int64_t row = 0; row < source.size(); ++row) {
    const std::size_t bytes = source.working_bytes(row);
    array.bytes += bytes;
    if (bytes > 0) lengths.push_back(static_cast<int>(bytes / line));
  }
  std::ranges::sort(lengths);
  if (array.record.kind == FieldSpec::Kind::padded) array.frames = median(lengths);
  facts.looked_at = add_bad(facts.bad, source);
}

// Of the parts that are given.
void add_judged(DataFacts& facts, const GivenParts& given, const SurveyOptions& options) {
  for (const auto& [section, source] : given) {
    if (const auto* images = dynamic_cast<const ImageSource*>(source.get())) {
      const Survey found = survey(*images, options);
      facts.judged_looked_at += found.records;
      add_bad(facts.judged_bad, found);
    } else {
      facts.judged_looked_at += add_bad(facts.judged_bad, *source);
    }
  }
}

// Keys of a list that the command line has.
void take_list_keys(DataSet& set, const DataQuestion& question) {
  if (is_list(set.file)) {
    set.root = question.root;
    set.columns = question.columns;
  } else if (question.has_list_keys()) {
    throw ConfigError(
        fmt::format("[new] --root and the options of columns are of a list (.csv, "
                    ".tsv, .jsonl), got {}; leave them out",
                    question.data.string()));
  }
}

}  // namespace

bool DataQuestion::has_list_keys() const {
  return !root.empty() || !columns.path.empty() || !columns.mask.empty() ||
         !columns.label.empty() || !columns.labels.empty();
}

bool has_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0;
}

DataFacts look_at_data(const DataQuestion& question, SurveyOptions options) {
  DataFacts facts{.found = question.masks ? find_masks(question.data, question.mask_folder,
                                                       question.mask_suffix, question.follow_links)
                                          : find_classes(question.data, question.follow_links)};
  take_list_keys(facts.found.train, question);
  facts.follow_links = question.follow_links;
  const TaskData quiet{.listings = {}, .follow_links = question.follow_links};
  const auto source = open_set(facts.found.train, quiet, "data.train", question.masks).source;
  facts.records = source->size();
  options.most = most_looked_at;
  const GivenParts given = open_parts(facts, question.masks, source->classes());
  look_at_groups(facts, *source, given, question.masks);
  if (!question.masks) add_classes(facts, *source);
  if (const auto* images = dynamic_cast<const ImageSource*>(source.get())) {
    if (question.masks) add_masks(facts, source, given, options.threads);
    const Survey found = survey(*images, options);
    add_survey(facts, *images, found);
    if (question.masks && found.turned > 0)
      facts.of_masks.push_back(
          fmt::format("{} pictures are turned by EXIF: their masks must be drawn as the pictures "
                      "are shown; headrace inspect draws both",
                      found.turned));
  } else {
    add_arrays(facts, *source);
  }
  add_judged(facts, given, options);
  facts.cores = usable_cores();
  facts.memory = monitor::tightest_memory_limit(std::nullopt).bytes;
  facts.gpu = has_gpu();
  return facts;
}

}  // namespace headrace::inline v1::app
