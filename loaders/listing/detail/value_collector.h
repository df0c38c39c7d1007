#pragma once

#include <headrace/loaders/listing/detail/manifest_rows.h>
#include <headrace/loaders/listing/internal/label_names.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Makes values of a manifest's rows. Throws ConfigError naming the line of what cannot be right.
class ValueCollector {
 public:
  explicit ValueCollector(const ManifestRequest& request);

  void begin(const ManifestColumns& found) { found_ = found; }
  void take(const ManifestRow& row);
  RecordValues finish();
  /// That is taken so far.
  std::size_t memory() const noexcept;

 private:
  void take_label(std::string_view name, std::int64_t line);
  void take_names(const ManifestRow& row);
  void take_flags(const ManifestRow& row);
  void take_group(const ManifestRow& row);
  void take_split(const ManifestRow& row);
  void settle_labels();
  void make_sets();

  const ManifestRequest& request_;
  ManifestColumns found_;
  RecordValues values_;
  LabelNames label_names_;
  LabelNames group_names_;
  // Labels of all records end to end, and where each record's end where it may have several.
  std::vector<std::int32_t> labels_;
  std::vector<std::uint64_t> label_end_;
  std::vector<DataSplit> group_split_;  // of each group, by first-seen number
};

}  // namespace headrace::inline v1::detail
