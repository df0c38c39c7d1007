#pragma once

#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Where the fields of a batch lie in a slab: every field a contiguous block of rows, 64-byte
/// aligned; those that stay on the host behind all others.
class Layout {
 public:
  /// A tensor of the batch.
  struct Column {
    std::string name;
    DType dtype = DType::uint8;
    Shape row;               ///< shape of one row
    std::size_t offset = 0;  ///< of row 0 in the slab
    std::size_t row_bytes = 0;
    bool host_only = false;
  };
  /// A field of the schema: its values, and the column that the engine adds to padded and ragged
  /// ones.
  struct Field {
    FieldSpec spec;
    std::size_t values = 0;  ///< column
    std::size_t extra = 0;   ///< column of shapes or offsets; same as `values` where there is none
  };

  Layout() = default;
  /// `valid` adds the bool column of rows that hold samples.
  Layout(const Schema& schema, std::int64_t rows, bool valid);

  std::int64_t rows() const noexcept { return rows_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// What is delivered: without the fields that stay on the host.
  std::size_t delivered_bytes() const noexcept { return delivered_bytes_; }
  bool has_host_only() const noexcept { return delivered_bytes_ < bytes_; }
  const std::vector<Field>& fields() const noexcept { return fields_; }
  const std::vector<Column>& columns() const noexcept { return columns_; }
  const Column* find(std::string_view name) const noexcept;
  /// Of those that are delivered.
  const Column* find_delivered(std::string_view name) const noexcept;
  bool has_valid() const noexcept { return valid_ >= 0; }
  /// Rows below `rows` whose valid byte is zero, ascending; none without that column.
  std::vector<std::int64_t> absent_rows(const std::byte* slab, std::int64_t rows) const;

  std::byte* cell(std::byte* slab, std::size_t column, std::int64_t row) const noexcept {
    const Column& c = columns_[column];
    return slab + c.offset + static_cast<std::size_t>(row) * c.row_bytes;
  }
  void set_valid(std::byte* slab, std::int64_t row, bool valid) const noexcept;
  /// Writes the empty value of every field: zero, or the fill.
  void clear_row(std::byte* slab, std::int64_t row) const;
  /// Fits a tensor into its field's row; returns the rule that it breaks, empty when it fits.
  std::string store(std::byte* slab, std::size_t field, std::int64_t row,
                    const Tensor& tensor) const;
  /// Moves the rows of ragged fields together; `rows` of them hold samples.
  void pack_ragged(std::byte* slab, std::int64_t rows) const;

 private:
  void add_field(const FieldSpec& spec);
  std::size_t add_column(std::string name, DType dtype, const Shape& row, std::int64_t rows);

  std::int64_t rows_ = 0;
  std::size_t bytes_ = 0;
  std::size_t delivered_bytes_ = 0;
  int valid_ = -1;
  std::vector<Field> fields_;
  std::vector<Column> columns_;
};

}  // namespace headrace::inline v1::detail
