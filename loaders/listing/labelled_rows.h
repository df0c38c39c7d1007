#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/tensor.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace headrace::inline v1 {

/// Rows of a source with what is known of each beside them, in memory. Fields: those of the rows,
/// and those of LabelledSource. Gathers whole batches where the rows do.
class HEADRACE_API LabelledRows : public LabelledSource {
 public:
  ~LabelledRows() override;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override;
  bool gathers() const override;
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::int64_t preferred_rows() const override;
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;

 protected:
  /// Throws ConfigError where there are not as many labels as rows (none at all may be), and where
  /// the rows have a field of their name.
  LabelledRows(std::shared_ptr<const Source> rows, detail::RecordValues values);

 private:
  const detail::RecordValues& values() const noexcept override;

  std::shared_ptr<const Source> rows_;
  std::unique_ptr<const detail::RecordValues> values_;
  Tensor labels_;  // a row a record; undefined without labels
};

}  // namespace headrace::inline v1
