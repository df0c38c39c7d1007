#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct NpyTableOptions {
  std::filesystem::path features{};  ///< .npy file of an array [records, ...]
  /// .npy file of whole numbers [records], the labels; or of flags, 0 or 1, [records, classes].
  std::filesystem::path labels{};
  std::string field = "features";  ///< the rows' name in a sample
  /// Class names by label; empty: the numbers up to the largest label, or of the flags' columns.
  std::vector<std::string> classes{};
  /// Of flags: false: one-hot, exactly one in a row; true: any number of them.
  bool multi_label = false;
};

/// An array of features and one of labels in NumPy's .npy format (NpyFile), in memory; row i of
/// both is record i. Fields: `field`, and "label" or "labels" as LabelledSource has them.
class HEADRACE_API NpyTable final : public LabelledSource {
 public:
  /// Throws ConfigError for files that are not there and for arrays that do not fit together, have
  /// no rows or are of another kind; DataError for a file that is broken, or naming the row of a
  /// label that cannot be right.
  explicit NpyTable(const NpyTableOptions& options);
  ~NpyTable() override;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;

 private:
  const detail::RecordValues& values() const noexcept override;

  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace headrace::inline v1
