#pragma once

#include <headrace/benchmarks/camouflage/overlap.h>
#include <headrace/benchmarks/camouflage/pictures.h>

#include <array>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::bench {

/// Where objects are on average, in shares of a picture's sides: a constant answer, whatever the
/// picture shows.
class MeanObject {
 public:
  static constexpr int side = 64;

  void add(const ObjectMask& mask);
  /// For a picture of that size, from 0 to 255 where objects are most often.
  Levels levels(int height, int width) const;

 private:
  std::array<float, std::size_t{side} * side> sum_{};
};

/// Frequency-tuned saliency (Achanta et al., CVPR 2009): how far, in L*a*b*, a blurred pixel is
/// from the picture's mean colour; from 0 to 255 in each picture.
Levels saliency(const MarkedPicture& picture);

/// 1 above Otsu's threshold of these levels.
std::vector<std::uint8_t> above_otsu(const Levels& levels);

}  // namespace headrace::inline v1::bench
