#include <headrace/loaders/image/filter_taps.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::detail {
namespace {
constexpr double negligible = 1e-9;

double radius_of(const ResizeAxis& axis, Resample resample) {
  return resample == Resample::antialias ? std::max(1.0, axis.length / axis.out) : 1.0;
}
}  // namespace

// Points of a unit lattice inside an open interval of the filter's length.
int most_taps(const ResizeAxis& axis, Resample resample) {
  return std::min(static_cast<int>(std::ceil(2 * radius_of(axis, resample))),
                  axis.last - axis.first);
}

/// Weights of output i into scratch_, not yet normalised; returns how many. (Casts stand for
/// floor() and ceil(), which are calls on a plain x86-64: what is cast is clamped first and never
/// negative.)
int FilterTaps::weigh(const ResizeAxis& axis, double centre, double radius, double inverse) {
  const double low_edge = std::clamp<double>(centre - radius, axis.first, axis.last - 1);
  const double high_edge = std::clamp<double>(centre + radius, axis.first, axis.last);
  const int low = static_cast<int>(low_edge);
  int high = static_cast<int>(high_edge);
  high += high_edge > high ? 1 : 0;
  high = std::max(high, low + 1);
  scratch_first_ = low;
  int used = 0;
  for (int x = low; x < high; ++x) {
    const double weight = 1.0 - std::abs(x + 0.5 - centre) * inverse;
    if (weight > negligible) {
      if (used == 0) scratch_first_ = x;
      scratch_[static_cast<std::size_t>(used++)] = weight;
    }
  }
  if (used == 0) scratch_[static_cast<std::size_t>(used++)] = 1.0;
  return used;
}

void FilterTaps::make(const ResizeAxis& axis, Resample resample, std::uint64_t one) {
  const double step = axis.length / axis.out;
  const double radius = radius_of(axis, resample);
  const double inverse = 1.0 / radius;
  const int most = most_taps(axis, resample);
  scratch_.resize(static_cast<std::size_t>(std::ceil(radius)) * 2 + 3);
  count = most;
  first.resize(static_cast<std::size_t>(axis.out));
  weights.assign(static_cast<std::size_t>(axis.out) * static_cast<std::size_t>(most), 0);
  for (int i = 0; i < axis.out; ++i) {
    const int used = weigh(axis, axis.start + (i + 0.5) * step, radius, inverse);
    const auto place = static_cast<std::size_t>(axis.reversed ? axis.out - 1 - i : i);
    const int begin = std::min(scratch_first_, axis.last - most);
    first[place] = begin;
    std::uint64_t* row =
        weights.data() + place * static_cast<std::size_t>(most) + (scratch_first_ - begin);
    double sum = 0;
    for (int k = 0; k < used; ++k)
      sum += scratch_[static_cast<std::size_t>(k)];
    const double unit = static_cast<double>(one) / sum;
    auto left = static_cast<std::int64_t>(one);
    int largest = 0;
    for (int k = 0; k < used; ++k) {
      const double weight = scratch_[static_cast<std::size_t>(k)] * unit;
      const std::int64_t share = std::min(left, static_cast<std::int64_t>(weight + 0.5));
      row[k] = static_cast<std::uint64_t>(share);
      left -= share;
      if (row[k] > row[largest]) largest = k;
    }
    row[largest] += static_cast<std::uint64_t>(left);
  }
}

}  // namespace headrace::inline v1::detail
