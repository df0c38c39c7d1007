#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstdint>
#include <span>
#include <string>

namespace headrace::inline v1 {

// How masks stay with their picture, in every geometric operation of loaders and augment.
//
// A mask is a field with one label a pixel: uint8 or uint16 [height, width], of its picture's
// height and width. An operation that moves pixels is told which masks go along:
//
//   HorizontalFlip{.p = 0.5, .masks = {"mask", "vessels"}}
//
// and treats them as it treats the picture, by these rules:
// - One draw serves all. Masks draw nothing, so the picture is the same with and without them.
// - An output pixel takes the label of the one input pixel in which its centre falls, whatever the
//   interpolation of the picture: the centre of output i lies at start + (i + 0.5) * length / out
//   of the input axis, pixel k covers [k, k + 1). Labels are never mixed, scaled or rounded.
// - What lies outside the picture becomes the option `mask_fill` (std::uint16_t, 0).
// - Operations on colours have no such option and leave masks as they are.

/// Throws ConfigError naming `who` unless each field in `masks` is a mask of `picture`, a decoded
/// [height, width, channels]: uint8 or uint16 [height, width], the same sides, and of its kind
/// (fixed or padded).
HEADRACE_API void check_masks(const Schema& in, const FieldSpec& picture,
                              std::span<const std::string> masks, const std::string& who);

/// `in`, in which the picture `field` and its masks have other sides.
HEADRACE_API Schema with_sides(const Schema& in, const std::string& field,
                               std::span<const std::string> masks, std::int64_t height,
                               std::int64_t width);

/// The sample's mask. Throws DataError unless it is uint8 or uint16 [height, width].
HEADRACE_API const Tensor& mask_of(const Sample& sample, const std::string& name,
                                   std::int64_t height, std::int64_t width);

/// Calls `work` with the mask's labels as `const std::uint8_t*` or `const std::uint16_t*`.
template <class Work>
void visit_labels(const Tensor& mask, const Work& work) {
  if (mask.dtype() == DType::uint8) {
    work(static_cast<const std::uint8_t*>(mask.raw()));
  } else {
    work(mask.data<std::uint16_t>());
  }
}

}  // namespace headrace::inline v1
