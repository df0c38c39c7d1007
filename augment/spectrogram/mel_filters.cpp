#include <headrace/augment/spectrogram/log_mel.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1 {
namespace {

double mel_of(double hertz) {
  return 2595.0 * std::log10(1.0 + hertz / 700.0);
}

double hertz_of(double mel) {
  return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0);
}

/// Corners of the triangles, in Hz: filter i rises from corner i to i + 1 and falls to i + 2.
std::vector<double> corners_of(const LogMelOptions& options) {
  const double highest = options.highest > 0.0 ? options.highest : options.sample_rate / 2.0;
  const double low = mel_of(options.lowest);
  const double step = (mel_of(highest) - low) / (options.bins + 1);
  std::vector<double> corners;
  corners.reserve(static_cast<std::size_t>(options.bins) + 2);
  for (int i = 0; i < options.bins + 2; ++i)
    corners.push_back(hertz_of(low + step * i));
  return corners;
}

}  // namespace

std::vector<MelFilter> mel_filters(const LogMelOptions& options) {
  const std::vector<double> corners = corners_of(options);
  const double width = options.sample_rate / options.transform;
  std::vector<MelFilter> filters;
  for (std::size_t bin = 0; bin + 2 < corners.size(); ++bin) {
    MelFilter filter;
    for (int k = 0; k <= options.transform / 2; ++k) {
      const double hertz = k * width;
      const double rise = (hertz - corners[bin]) / (corners[bin + 1] - corners[bin]);
      const double fall = (corners[bin + 2] - hertz) / (corners[bin + 2] - corners[bin + 1]);
      const double weight = std::min(rise, fall);
      if (weight <= 0.0) continue;
      if (filter.weights.empty()) filter.first = k;
      filter.weights.push_back(static_cast<float>(weight));
    }
    if (filter.weights.empty()) {
      throw ConfigError("[log mel] each of " + std::to_string(options.bins) +
                        " bins must hold a frequency of the transform, bin " + std::to_string(bin) +
                        " (" + std::to_string(corners[bin]) + " to " +
                        std::to_string(corners[bin + 2]) +
                        " Hz) holds none; take fewer bins or a " + "longer transform");
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

}  // namespace headrace::inline v1
