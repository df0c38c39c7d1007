#pragma once

#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/image_header.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// The pixel of [first, last) in which the centre of sample i of `out` over [start, start + length)
/// falls.
int nearest_pixel(double start, double length, int first, int last, int i, int out);

/// Picks the labels of a shown window out of a stored picture. Keeps its memory.
class LabelSampler {
 public:
  /// Decides which stored pixel each of out_width x out_height labels is, and returns the stored
  /// region they lie in.
  Region place(const ImageWindow& window, const ImageHeader& header, int out_width, int out_height,
               bool flip);
  /// Writes the labels, rows packed. Throws DataError for a label that T does not hold.
  template <class T>
  void sample(const DecodedLabels& labels, T* out) const;

 private:
  bool transposed_ = false;
  std::vector<int> across_;  ///< per output column: stored x, or y where the sides are exchanged
  std::vector<int> down_;    ///< per output row: stored y, or x
};

}  // namespace headrace::inline v1::detail
