#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// What a field of a sample is before the first read: the slab layout, the memory forecast and
/// every type error follow from it.
struct HEADRACE_API FieldSpec {
  enum class Kind : unsigned char {
    fixed,  ///< every row has exactly `shape`; the batch field is [rows, shape...]
    /// A row has at most `shape`, the rest holds `fill`, which `dtype` must be able to hold; int64
    /// field "<name>_shape" [rows, rank] is added.
    padded,
    /// One-dimensional, at most shape[0] elements a row; the batch field holds the rows end to end,
    /// int64 field "<name>_offsets" [rows + 1] is added.
    ragged,
  };

  std::string name;
  DType dtype = DType::uint8;
  Shape shape;
  Kind kind = Kind::fixed;
  double fill = 0.0;
  /// Stays in the slab: not copied to a device and not delivered, for batch operations alone
  /// (Batch::on_host). Of steps, and of kind `fixed`.
  bool host_only = false;

  /// A field of each kind.
  static FieldSpec fixed(std::string name, DType dtype, const Shape& shape);
  static FieldSpec padded(std::string name, DType dtype, const Shape& largest, double fill = 0.0);
  static FieldSpec ragged(std::string name, DType dtype, std::int64_t largest_row);
  /// A fixed field that stays on the host.
  static FieldSpec on_host(std::string name, DType dtype, const Shape& shape);

  /// Bytes that one row takes in a slab.
  std::size_t row_bytes() const;
  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};

/// "image: uint8 [224, 224, 3]".
HEADRACE_API std::string to_string(const FieldSpec& field);

/// The fields of a sample, in order. A plain value.
class HEADRACE_API Schema {
 public:
  Schema() = default;
  Schema(std::initializer_list<FieldSpec> fields);

  /// Adds a field, or replaces the one of that name.
  void put(FieldSpec field);
  /// Removes a field; a name that is not there is a ConfigError.
  void remove(std::string_view name);
  /// Null where there is none of that name.
  const FieldSpec* find(std::string_view name) const noexcept;
  /// Throws ConfigError naming the fields that exist; `who` is the operation that asked. Of a
  /// schema that is about to go (`pipeline.schema().at("image")`) a copy.
  const FieldSpec& at(std::string_view name, std::string_view who = "schema") const&;
  FieldSpec at(std::string_view name, std::string_view who = "schema") &&;

  std::size_t size() const noexcept { return fields_.size(); }
  const FieldSpec& operator[](std::size_t i) const noexcept { return fields_[i]; }
  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }
  friend bool operator==(const Schema&, const Schema&) = default;

 private:
  std::vector<FieldSpec> fields_;
};

/// "{image: uint8 [224, 224, 3], label: int64 []}".
HEADRACE_API std::string to_string(const Schema& schema);

}  // namespace headrace::inline v1
