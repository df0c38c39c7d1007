#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Size of a volume of labels.
struct LabelGrid {
  std::int64_t depth = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::int64_t plane() const { return height * width; }
  std::int64_t count() const { return depth * plane(); }
};

/// The field as a volume of labels: uint8, int16, int32 or int64 [z, y, x] or [1, z, y, x]. Throws
/// ConfigError naming `who` where it is none.
const FieldSpec& label_field(const Schema& in, std::string_view field, const std::string& who);

/// Of a shape that is a label's.
LabelGrid label_grid(const Shape& shape);
GridExtent label_extent(const Shape& shape);

/// The shape with other sides, its leading axis kept.
Shape with_grid(const Shape& shape, const LabelGrid& grid);

/// `in` and the field that is made of a label: `to`, its shape the label's, filled with 0.
Schema with_target(const Schema& in, const FieldSpec& label, const std::string& to, DType dtype);

/// The field's tensor; throws DataError where it is no volume of labels.
Tensor label_of(const Sample& sample, const std::string& field);

/// Calls `use` with the tensor's labels, typed.
template <class Use>
void with_labels(const Tensor& tensor, const Use& use) {
  switch (tensor.dtype()) {
    case DType::uint8:
      return use(tensor.data<std::uint8_t>());
    case DType::int16:
      return use(tensor.data<std::int16_t>());
    case DType::int32:
      return use(tensor.data<std::int32_t>());
    case DType::int64:
      return use(tensor.data<std::int64_t>());
    default:
      throw DataError("labels must be uint8, int16, int32 or int64");
  }
}

/// Which labels an operation is about: those of `labels`, or, where there are none, all but 0 and
/// `ignore`. Writes 1 and 0.
void mark_labels(const Tensor& tensor, const std::vector<std::int64_t>& labels, std::int64_t ignore,
                 std::uint8_t* to);

/// The same of the voxels in a box, which lies in the volume.
void mark_labels_in(const GridBox& box, const Tensor& tensor,
                    const std::vector<std::int64_t>& labels, std::int64_t ignore, std::uint8_t* to);

}  // namespace headrace::inline v1::detail
