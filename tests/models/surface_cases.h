#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/tests/models/hashed_fill.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::test {

using Mask = std::vector<std::uint8_t>;

/// A predicted and a true volume; of the latter some voxels are 2, to be ignored.
struct SurfaceCase {
  GridExtent extent{};
  Mask prediction{};
  Mask truth{};

  models::MaskPair pair() const { return {prediction, truth, extent}; }
};

/// Volume i of reference/make_surface_values.py.
inline SurfaceCase surface_case(int i) {
  const std::string name = "surface " + std::to_string(i);
  const auto numbers = [&](const std::string& what, std::int64_t count) {
    const at::Tensor values = hashed_fill(name + what, {count}, .5, .5);
    return std::vector<double>(values.const_data_ptr<double>(),
                               values.const_data_ptr<double>() + count);
  };
  const std::vector<double> u = numbers("", 6);
  SurfaceCase made;
  for (std::size_t axis = 0; axis < 3; ++axis)
    made.extent[axis] = 2 + static_cast<std::int64_t>(u[axis] * 14);
  const std::int64_t count = voxels_of(made.extent);
  const double density = .02 + .7 * u[3] * u[3];
  const std::vector<double> prediction = numbers(" prediction", count);
  const std::vector<double> truth = numbers(" truth", count);
  const std::vector<double> agreement = numbers(" agreement", count);
  const std::vector<double> unknown = numbers(" unknown", count);
  for (std::size_t k = 0; k < prediction.size(); ++k) {
    const bool predicted = prediction[k] < density;
    const bool real = agreement[k] < u[4] ? predicted : truth[k] < density;
    made.prediction.push_back(predicted ? 1 : 0);
    made.truth.push_back(unknown[k] < .1 * u[5] ? 2 : real ? 1 : 0);
  }
  return made;
}

/// Voxels of 0 in which boxes are filled and emptied.
class Body {
 public:
  explicit Body(const GridExtent& extent)
      : extent_(extent), voxels_(static_cast<std::size_t>(voxels_of(extent))) {}

  /// Both ends belong to it.
  Body& fill(const GridExtent& first, const GridExtent& last, std::uint8_t value = 1) {
    for (std::int64_t z = first[0]; z <= last[0]; ++z)
      for (std::int64_t y = first[1]; y <= last[1]; ++y)
        for (std::int64_t x = first[2]; x <= last[2]; ++x)
          voxels_[static_cast<std::size_t>((z * extent_[1] + y) * extent_[2] + x)] = value;
    return *this;
  }
  const Mask& voxels() const { return voxels_; }

 private:
  GridExtent extent_;
  Mask voxels_;
};

}  // namespace headrace::test
