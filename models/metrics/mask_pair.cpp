#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/mask_pair.h>

#include <string>

namespace headrace::inline v1::models {
namespace {

void check_sizes(const GridExtent& extent, std::size_t prediction, std::size_t truth) {
  double voxels = 1.0;
  for (const std::int64_t side : extent)
    voxels *= static_cast<double>(side > 0 ? side : 0);
  const std::string sides = std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " +
                            std::to_string(extent[2]);
  if (!(voxels > 0.0 && voxels < 2147483648.0))
    throw DataError("[mask pair] a volume must have 1 to 2^31 - 1 voxels, got " + sides);
  if (static_cast<double>(prediction) == voxels && truth == prediction) return;
  throw DataError("[mask pair] prediction and truth must be volumes of " + sides + " voxels, got " +
                  std::to_string(prediction) + " and " + std::to_string(truth));
}

}  // namespace

MaskPair::MaskPair(std::span<const std::uint8_t> prediction, std::span<const std::uint8_t> truth,
                   const GridExtent& extent, std::uint8_t ignore) {
  check_sizes(extent, prediction.size(), truth.size());
  VoxelBits known;
  known.mark(truth, extent, ignore);
  prediction_.mark(prediction, extent);
  prediction_ &= known;
  truth_.mark(truth, extent);
  truth_ &= known;
}

}  // namespace headrace::inline v1::models
