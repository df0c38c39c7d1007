#include <headrace/apps/jobs/segmentation/nnunet_figures.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::app {

double numpy_percentile(std::vector<double> values, double percent) {
  std::ranges::sort(values);
  const double place = static_cast<double>(values.size() - 1) * (percent / 100);
  const auto below = static_cast<std::size_t>(std::floor(place));
  if (below + 1 >= values.size()) return values.back();
  const double share = place - std::floor(place);
  const double step = values[below + 1] - values[below];
  return share >= 0.5 ? values[below + 1] - step * (1 - share) : values[below] + step * share;
}

double numpy_median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double product_of(const std::vector<double>& values) {
  double product = 1;
  for (const double value : values)
    product *= value;
  return product;
}

double feature_map_values(const std::vector<std::int64_t>& patch,
                          const std::vector<std::vector<std::int64_t>>& strides,
                          const std::vector<std::int64_t>& features, std::int64_t labels) {
  constexpr double convolutions = 2;
  std::vector<std::int64_t> sides = patch;
  double values = 0;
  for (std::size_t stage = 0; stage < strides.size(); ++stage) {
    double map = 1;
    for (std::size_t axis = 0; axis < sides.size(); ++axis) {
      sides[axis] /= strides[stage][axis];
      map *= static_cast<double>(sides[axis]);
    }
    const double channels = static_cast<double>(features[stage]);
    values += convolutions * channels * map;  // of the encoder
    // The decoder has as many, and the transposed convolution's, but at the coarsest stage.
    if (stage + 1 < strides.size()) values += (convolutions + 1) * channels * map;
    if (stage == 0 && strides.size() > 1) values += static_cast<double>(labels) * map;
  }
  return values;
}

}  // namespace headrace::inline v1::app
