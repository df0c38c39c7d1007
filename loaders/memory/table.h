#pragma once

#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// One field of a table: row i of the tensor, shape [rows, ...], is the field of sample i.
struct TableColumn {
  std::string name;
  Tensor rows;
};

/// Rows in memory as a source. read() lends the rows themselves, gather() copies at the speed of
/// memory. The tensors are shared, not copied, and must not be written to any more.
class HEADRACE_API Table : public Source {
 public:
  /// Throws ConfigError when there is no column, a name comes twice, a column has no leading
  /// extent, lies on a device, or differs in rows from the first; `name` is for messages.
  explicit Table(std::vector<TableColumn> columns, std::string name = "table");

  std::string name() const override { return name_; }
  std::int64_t size() const override { return rows_; }
  Schema fields() const override;
  void read(std::int64_t index, Sample& sample) const override;
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;

  std::span<const TableColumn> columns() const noexcept { return columns_; }

 private:
  std::vector<TableColumn> columns_;
  std::string name_;
  std::int64_t rows_ = 0;
};

}  // namespace headrace::inline v1
