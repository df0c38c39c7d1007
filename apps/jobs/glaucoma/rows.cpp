#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/jobs/glaucoma/labels.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/rows.h>
#include <headrace/apps/task/array_values.h>
#include <headrace/apps/task/split.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t parts = 5;  // one of them for the test

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& rule) {
  throw DataError(fmt::format("[glaucoma] {}: {}", file.string(), rule));
}

std::string came(const FieldSpec& field, const Hdf5Table& table) {
  return fmt::format("{} {}", name_of(field.dtype), to_string(field.shape.batched(table.size())));
}

void check_fields(const Hdf5Table& table, const std::filesystem::path& file) {
  const Schema fields = table.fields();
  const FieldSpec& labels = fields.at("labels");
  if (!are_glaucoma_labels(labels)) {
    refuse(file, fmt::format("dataset /labels must be {}, got {}; convert it", glaucoma_labels_rule,
                             came(labels, table)));
  }
  const auto check_integers = [&](const char* name, const char* meaning, const char* without) {
    const FieldSpec* field = fields.find(name);
    if (field == nullptr || (is_integer(field->dtype) && field->shape == Shape{})) return;
    refuse(file, fmt::format("dataset /{} must be integers [N], {}, got {}; convert it, or leave "
                             "it out {}",
                             name, meaning, came(*field, table), without));
  };
  check_integers("split", "0 for training and 1 for the test", "for a split by seed");
  check_integers("patients", "a number for each person", "where each record is of another one");
}

bool is_zero(const Tensor& integer) {
  const auto* bytes = static_cast<const unsigned char*>(integer.raw());
  return std::all_of(bytes, bytes + integer.bytes(), [](unsigned char byte) { return byte == 0; });
}

/// What the file says of its records, in their order.
struct Records {
  std::vector<std::int64_t> classes{};
  std::vector<bool> test{};              ///< empty where the file has no split
  std::vector<std::int64_t> patients{};  ///< from 0 as they appear; empty where the file has none
};

Records read_records(const std::filesystem::path& file) {
  Hdf5TableOptions options{.file = file, .fields = {{.name = "labels", .dataset = "/labels"}}};
  check_fields(Hdf5Table(options), file);
  const bool has_split = has_hdf5_object(file, "split");
  const bool has_patients = has_hdf5_object(file, "patients");
  if (has_split) options.fields.push_back({.name = "split", .dataset = "/split"});
  if (has_patients) options.fields.push_back({.name = "patients", .dataset = "/patients"});
  const Hdf5Table table(options);
  check_fields(table, file);
  Records records;
  std::map<double, std::int64_t> numbers;
  Sample sample;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    sample.reset();
    table.read(i, sample);
    try {
      records.classes.push_back(class_of(sample["labels"]));
    } catch (const DataError& error) {
      refuse(file, fmt::format("record /labels[{}]: {}; correct it or leave the record out", i,
                               error.what()));
    }
    if (has_split) records.test.push_back(!is_zero(sample["split"]));
    if (has_patients)
      for_each_value(sample["patients"], [&](std::size_t, double id) {
        const auto next = static_cast<std::int64_t>(numbers.size());
        records.patients.push_back(numbers.try_emplace(id, next).first->second);
      });
  }
  return records;
}

/// One of `parts` parts of every class: of the records sorted by class, and within a class as they
/// are drawn, every fifth.
std::vector<bool> draw_test(const std::vector<std::int64_t>& classes, std::uint64_t seed) {
  std::vector<bool> test(classes.size());
  std::size_t place = 0;
  for (std::int64_t number = 0; number < glaucoma_classes; ++number) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] == number) members.push_back(i);
    }
    Random random({.seed = seed, .loader = hash_name("glaucoma split"), .position = number});
    for (std::size_t i = members.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)));
      std::swap(members[i - 1], members[other]);
    }
    for (const std::size_t member : members)
      test[member] = place++ % parts == 0;
  }
  return test;
}

SplitRecords grouped_by_patient(const std::vector<std::int64_t>& classes,
                                std::vector<std::int64_t> patients) {
  SplitRecords records{.size = std::ssize(classes), .groups = std::move(patients)};
  for (const std::int64_t one : classes)
    records.classes.push_back({one});
  return records;
}

// As near to a fifth of every class as patients allow, who stay whole.
std::vector<bool> draw_test_of_patients(const Records& records, std::uint64_t seed) {
  const auto sides =
      divide(grouped_by_patient(records.classes, records.patients), {parts - 1.0, 1.0}, seed);
  std::vector<bool> test(records.classes.size());
  for (const std::int64_t record : sides[1])
    test[static_cast<std::size_t>(record)] = true;
  return test;
}

// Of a file's own split.
void tell_patients_on_both_sides(const Records& records, const std::filesystem::path& file) {
  std::set<std::int64_t> learnt;
  for (std::size_t i = 0; i < records.patients.size(); ++i)
    if (!records.test[i]) learnt.insert(records.patients[i]);
  std::set<std::int64_t> both;
  std::size_t example = 0;
  for (std::size_t i = 0; i < records.patients.size(); ++i)
    if (records.test[i] && learnt.contains(records.patients[i]) &&
        both.insert(records.patients[i]).second && both.size() == 1)
      example = i;
  if (both.empty()) return;
  log_table(LogLevel::warning,
            fmt::format("[glaucoma] {}: /split divides {} of /patients, that of record {} for one: "
                        "what the test asks is in part learnt; correct /split, or leave it out",
                        file.string(), both.size(), example));
}

}  // namespace

GlaucomaRows read_glaucoma_rows(const std::filesystem::path& file, std::uint64_t seed) {
  Records records = read_records(file);
  const bool drawn = records.test.empty() && !records.classes.empty();
  if (drawn)
    records.test = records.patients.empty() ? draw_test(records.classes, seed)
                                            : draw_test_of_patients(records, seed);
  else
    tell_patients_on_both_sides(records, file);
  GlaucomaRows rows;
  for (std::size_t i = 0; i < records.classes.size(); ++i) {
    const auto record = static_cast<std::int64_t>(i);
    if (records.test[i]) {
      rows.test.push_back(record);
    } else {
      rows.train.push_back(record);
      rows.train_labels.push_back(records.classes[i]);
      if (!records.patients.empty()) rows.train_patients.push_back(records.patients[i]);
    }
  }
  if (drawn) {
    log_table(LogLevel::warning,
              fmt::format("[glaucoma] {} has no split: {} of its {} records, a fifth of every "
                          "class drawn with seed {}, are kept for the test",
                          file.string(), rows.test.size(), records.classes.size(), seed));
  }
  return rows;
}

std::vector<std::vector<std::int64_t>> folds_of_patients(const GlaucomaRows& rows, int folds,
                                                         std::uint64_t seed) {
  auto parts_of_train = divide(grouped_by_patient(rows.train_labels, rows.train_patients),
                               std::vector<double>(static_cast<std::size_t>(folds), 1.0), seed);
  for (const auto& part : parts_of_train)
    if (part.empty())
      throw ConfigError(fmt::format(
          "[config] data.folds must leave each fold a patient, who stays whole (/patients), got {} "
          "folds; set fewer",
          folds));
  return parts_of_train;
}

}  // namespace headrace::inline v1::app
