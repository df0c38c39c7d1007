#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/jobs/glaucoma/labels.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/rows.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <algorithm>
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
  const FieldSpec* split = fields.find("split");
  if (split != nullptr && (!is_integer(split->dtype) || split->shape != Shape{})) {
    refuse(file,
           fmt::format("dataset /split must be integers [N], 0 for training and 1 for the test, "
                       "got {}; convert it, or leave it out for a split by seed",
                       came(*split, table)));
  }
}

bool is_zero(const Tensor& integer) {
  const auto* bytes = static_cast<const unsigned char*>(integer.raw());
  return std::all_of(bytes, bytes + integer.bytes(), [](unsigned char byte) { return byte == 0; });
}

/// What the file says of its records, in their order.
struct Records {
  std::vector<std::int64_t> classes{};
  std::vector<bool> test{};  ///< empty where the file has no split
};

Records read_records(const std::filesystem::path& file) {
  Hdf5TableOptions options{.file = file, .fields = {{.name = "labels", .dataset = "/labels"}}};
  check_fields(Hdf5Table(options), file);
  const bool has_split = has_hdf5_object(file, "split");
  if (has_split) options.fields.push_back({.name = "split", .dataset = "/split"});
  const Hdf5Table table(options);
  check_fields(table, file);
  Records records;
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

}  // namespace

GlaucomaRows read_glaucoma_rows(const std::filesystem::path& file, std::uint64_t seed) {
  Records records = read_records(file);
  const bool drawn = records.test.empty() && !records.classes.empty();
  if (drawn) records.test = draw_test(records.classes, seed);
  GlaucomaRows rows;
  for (std::size_t i = 0; i < records.classes.size(); ++i) {
    const auto record = static_cast<std::int64_t>(i);
    if (records.test[i]) {
      rows.test.push_back(record);
    } else {
      rows.train.push_back(record);
      rows.train_labels.push_back(records.classes[i]);
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

}  // namespace headrace::inline v1::app
