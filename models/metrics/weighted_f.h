#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/saliency_pair.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::models {

/// A pixel by row and column.
struct PixelPlace {
  std::int32_t row = 0;
  std::int32_t column = 0;

  friend bool operator==(const PixelPlace&, const PixelPlace&) = default;
};

/// For each pixel of `mask` (`size.height` rows of `size.width`) the nearest that is not 0: an
/// exact Euclidean distance transform with its feature, in integers (Maurer, Qi, Raghavan: PAMI 25,
/// 2003), in time linear in the pixels. Of equally near ones it is the leftmost, and in its column
/// the upper one. Throws DataError for a mask of 0 alone and for one of another size.
HEADRACE_API std::vector<PixelPlace> nearest_object(std::span<const std::uint8_t> mask,
                                                    SaliencySize size);

/// Weighted F-measure (Margolin et al., CVPR 2014) with beta = 1, as PySODMetrics 1.6.2 has it
/// (`WeightedFmeasure`); 0 where the mask has no object. A background pixel takes the error of the
/// nearest pixel of the object; of equally near ones that which `nearest_object` names, which is
/// SciPy 1.17's choice, too. Takes 16 bytes a pixel while it runs.
HEADRACE_API double weighted_f(const SaliencyPair& pair);

}  // namespace headrace::inline v1::models
