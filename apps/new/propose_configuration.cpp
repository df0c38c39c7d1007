#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/new/proposal.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/array_values.h>
#include <headrace/apps/task/find_groups.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/engine/base/printable.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/loaders/image/mask_survey.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t most_looked_at = 2000;

int median(const std::vector<int>& sorted) {
  return sorted[sorted.size() / 2];
}

void add_survey(DataFacts& facts, const ImageSource& source, const Survey& survey) {
  facts.looked_at = survey.records;
  facts.dim = survey.dim;
  for (const Survey::Bad& bad : survey.bad)
    facts.bad.push_back(fmt::format("{}: {}", bad.origin, bad.reason));
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
  const auto rows = evenly_spread(all_rows(source), most_looked_at);
  facts.looked_at = static_cast<std::int64_t>(rows.size());
  Sample sample;
  for (const std::int64_t row : rows) {
    const std::string fault = fault_of(source, row, sample);
    if (!fault.empty()) facts.bad.push_back(fmt::format("{}: {}", source.origin(row), fault));
  }
}

// Of all parts; one that cannot be opened is refused when it is trained with.
void add_copies(DataFacts& facts, const std::shared_ptr<const LabelledSource>& train, bool masks) {
  const TaskData quiet{.listings = {}};
  std::vector<CopyList> lists{copy_list(Side::training, train)};
  const auto add = [&](const std::optional<DataSet>& part, Side side) {
    if (!part) return;
    try {
      lists.push_back(
          copy_list(side, open_set(*part, quiet, "data.test", masks, train->classes()).source));
    } catch (const ConfigError&) {
    } catch (const DataError&) {
    }
  };
  add(facts.found.validation, Side::validation);
  add(facts.found.test, Side::test);
  for (const auto& [level, line] : Copies(std::move(lists), quiet.duplicates, {}).lines()) {
    facts.copies.push_back(line);
    if (level == headrace::LogLevel::warning) log_data(level, line);
  }
}

// Why a part that is given cannot keep to a grouping; empty: it does.
std::string beside_part(const LabelledSource& part, const FoundGroups& found, const char* section) {
  SharedGroups shared;
  try {
    shared = shared_groups(groups_by_name(found.pattern, record_names(part)), found.groups);
  } catch (const DataError&) {
    return fmt::format("; those of {} have other names, so it is not held to it", section);
  }
  if (shared.count == 0) return "";
  return fmt::format("; {} of these groups are in {}, too, \"{}\" for one: it is in part learnt",
                     shared.count, section, printable(shared.example, 100));
}

// What names say of who belongs together, unless the data say it themselves. A pattern is proposed
// where a division, or the parts that are given, can keep to it.
void add_groups(DataFacts& facts, const LabelledSource& train, bool masks) {
  facts.groups = !train.groups().empty();
  facts.splits = !train.splits().empty();
  if (facts.groups || !has_names(facts.found.train)) return;
  const std::vector<std::int64_t> labels = train.labels();
  const auto found = find_groups(record_names(train), labels);
  if (!found) return;
  facts.of_names = found->reason;
  if (facts.splits) {
    const SharedGroups divided = divided_groups(found->groups, train.splits());
    if (divided.count > 0)
      facts.of_names += fmt::format(
          "; the column \"split\" divides {} of them, \"{}\" for one: "
          "what is judged is in part learnt",
          divided.count, printable(divided.example, 100));
    return;
  }
  SplitSettings split;
  for (const auto& [section, set, share] :
       {std::tuple("data.validation", &facts.found.validation, &split.validation),
        std::tuple("data.test", &facts.found.test, &split.test)}) {
    if (!*set) continue;
    *share = 0.0;
    const auto part = open_set(**set, {.listings = {}}, section, masks, train.classes()).source;
    const std::string beside = beside_part(*part, *found, section);
    if (beside.empty()) continue;
    facts.of_names += beside;
    return;
  }
  if (can_divide(found->groups, labels, split))
    facts.name_groups = found->pattern;
  else
    facts.of_names += "; too few to divide, so records of one are on several sides";
}

}  // namespace

bool has_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0;
}

DataFacts look_at_data(const DataQuestion& question, SurveyOptions options) {
  DataFacts facts{.found = question.masks ? find_masks(question.data, question.mask_folder)
                                          : find_classes(question.data)};
  const TaskData quiet{.listings = {}};
  const auto source = open_set(facts.found.train, quiet, "data.train", question.masks).source;
  facts.records = source->size();
  add_groups(facts, *source, question.masks);
  if (!question.masks) add_classes(facts, *source);
  if (const auto* images = dynamic_cast<const ImageSource*>(source.get())) {
    if (question.masks) add_masks(facts, *images);
    options.most = most_looked_at;
    add_survey(facts, *images, survey(*images, options));
  } else {
    add_arrays(facts, *source);
  }
  add_copies(facts, source, question.masks);
  facts.cores = usable_cores();
  facts.memory = monitor::tightest_memory_limit(std::nullopt).bytes;
  facts.gpu = has_gpu();
  return facts;
}

namespace {

const Job& proposing_job(const std::vector<Job>& jobs, std::string_view kind) {
  std::vector<std::string> names;
  for (const Job& job : jobs) {
    if (!job.propose) continue;
    if (job.name == kind) return job;
    names.push_back(job.name);
  }
  const auto meant = nearest_name(kind, names);
  throw ConfigError(fmt::format("[new] the kind must be one of {}, got \"{}\"{}",
                                fmt::join(names, ", "), kind,
                                meant ? fmt::format("; did you mean {}?", *meant) : ""));
}

Proposal proposal_of(const Job& job, const DataQuestion& question, const SurveyOptions& options) {
  if (job.propose_folder) {
    const std::optional<Proposal> own = job.propose_folder({.data = question.data,
                                                            .threads = options.threads,
                                                            .gpu = has_gpu(),
                                                            .gpu_memory = question.gpu_memory});
    if (own) return *own;
  }
  if (question.gpu_memory)
    throw ConfigError("[new] --gpu-memory is of volumes in nnU-Net's raw layout, got " +
                      question.data.string() + "; leave it out");
  const DataFacts facts = look_at_data(question, options);
  Proposal proposal = job.propose(facts);
  proposal.lines = describe(facts);
  return proposal;
}

// Sets what the preset does, and says so behind the keys.
void set_preset(const std::string& name, Fields& fields, Reasons& reasons) {
  const Node proposed = fields.write();
  const auto read = [&](const std::vector<std::string>& settings) {
    Node document = proposed;
    for (const std::string& setting : settings)
      apply_override(document, setting);
    fields.read(document);
    return fields.to_yaml();
  };
  const AppliedPreset applied = apply_preset(name, this_machine(), read);
  static_cast<void>(read(applied.settings));
  for (const PresetChange& change : applied.changes)
    if (change.left_out.empty())
      reasons[change.key] = fmt::format("preset {}: {}", name, change.why);
  fmt::print(stderr, "{}", preset_text(applied));
}

}  // namespace

std::string propose_configuration(const std::vector<Job>& jobs, std::string_view kind,
                                  DataQuestion question, const SurveyOptions& options) {
  const Job& job = proposing_job(jobs, kind);
  question.masks = job.masks;
  Proposal proposal = proposal_of(job, question, options);
  std::string text = fmt::format("# {}: {}\n#\n", job.name, job.help);
  for (const std::string& line : proposal.lines)
    text += "# " + printable(line) + '\n';
  Fields fields;
  proposal.config->describe_keys(fields);
  if (!question.preset.empty()) set_preset(question.preset, fields, proposal.reasons);
  return text +
         fmt::format(
             "#\n# headrace train FILE.yaml; every key: headrace config {}\n\n"
             "kind: {}\n",
             job.name, job.name) +
         fields.to_yaml(proposal.reasons);
}

}  // namespace headrace::inline v1::app
