#pragma once

#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/image_header.h>

#include <vector>

namespace headrace::inline v1::detail {

/// Whether a stored axis runs against the shown one that it becomes, by the EXIF orientation (1-8).
constexpr bool x_runs_back(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}
constexpr bool y_runs_back(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

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
