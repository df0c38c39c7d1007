#include <headrace/apps/inspect/volume_sheet.h>
#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/plot/look.h>
#include <headrace/apps/task/array_values.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <opencv2/core/mat.hpp>
#include <opencv2/imgproc.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr double veil = 0.7;  // share of a class's colour in a contour

std::size_t place(const ShownVolume& volume, const Voxel& at) {
  return static_cast<std::size_t>((at[0] * volume.extent[1] + at[1]) * volume.extent[2] + at[2]);
}

template <class Work>
void for_each_voxel(const Voxel& extent, const Work& work) {
  Voxel at{};
  for (at[0] = 0; at[0] < extent[0]; ++at[0])
    for (at[1] = 0; at[1] < extent[1]; ++at[1])
      for (at[2] = 0; at[2] < extent[2]; ++at[2])
        work(at);
}

bool is_class(std::uint8_t label) {
  return label != 0 && label != ShownVolume::no_class;
}

// A plane of a volume.
struct Plane {
  std::size_t down = 0;    // axis of the rows
  std::size_t across = 0;  // axis of the columns
  Voxel through{};

  Plane(std::size_t axis, const Voxel& at)
      : down(axis == 0 ? 1 : 0), across(axis == 2 ? 1 : 2), through(at) {}
  Voxel at(std::int64_t row, std::int64_t column) const {
    Voxel voxel = through;
    voxel[down] = row;
    voxel[across] = column;
    return voxel;
  }
};

// Whether a voxel of a class has a neighbour in the plane that is of another.
bool is_contour(const ShownVolume& volume, const Plane& plane, const Voxel& at) {
  const std::uint8_t label = volume.labels[place(volume, at)];
  if (label == 0) return false;
  for (const std::size_t axis : {plane.down, plane.across}) {
    for (const std::int64_t step : {-1, 1}) {
      Voxel next = at;
      next[axis] += step;
      const bool inside = next[axis] >= 0 && next[axis] < volume.extent[axis];
      if (inside && volume.labels[place(volume, next)] != label) return true;
    }
  }
  return false;
}

std::uint8_t grey(float value, const GreyWindow& window) {
  const float share = (value - window.least) / (window.most - window.least);
  return static_cast<std::uint8_t>(
      std::isfinite(share) ? std::lround(255.0F * std::clamp(share, 0.0F, 1.0F)) : 0);
}

void veil_with(std::span<std::uint8_t, 3> pixel, Colour colour) {
  const std::array<std::uint8_t, 3> parts{colour.red, colour.green, colour.blue};
  for (std::size_t c = 0; c < 3; ++c)
    pixel[c] = static_cast<std::uint8_t>(std::lround((1.0 - veil) * pixel[c] + veil * parts[c]));
}

Pixels shrunk(Pixels large, int side) {
  const int longer = std::max(large.width, large.height);
  if (longer <= side) return large;
  const auto shorter = [&](int length) {
    return std::max(1, static_cast<int>(std::lround(double(length) * side / longer)));
  };
  Pixels small{.width = shorter(large.width), .height = shorter(large.height)};
  small.rgb.resize(3 * static_cast<std::size_t>(small.width) *
                   static_cast<std::size_t>(small.height));
  const cv::Mat from(large.height, large.width, CV_8UC3, large.rgb.data());
  cv::Mat to(small.height, small.width, CV_8UC3, small.rgb.data());
  cv::resize(from, to, to.size(), 0.0, 0.0, cv::INTER_AREA);
  return small;
}

void set_labels(ShownVolume& volume, const Tensor& label, std::size_t classes) {
  const Shape& shape = label.shape();
  if (shape != Shape{volume.extent[0], volume.extent[1], volume.extent[2]}) {
    throw DataError(fmt::format("a label must be as large as its volume, got {} and {} x {} x {}",
                                to_string(shape), volume.extent[0], volume.extent[1],
                                volume.extent[2]));
  }
  constexpr std::size_t no_class = ShownVolume::no_class;
  const auto end = static_cast<double>(classes == 0 ? no_class : std::min(classes, no_class));
  volume.labels.resize(volume.values.size());
  for_each_value(label, [&](std::size_t i, double value) {
    volume.labels[i] =
        value >= 0.0 && value < end ? static_cast<std::uint8_t>(value) : ShownVolume::no_class;
  });
}

}  // namespace

ShownVolume shown_volume(const ImageChannel& of, const Tensor& label, std::size_t classes) {
  const Shape& shape = of.image.shape();
  if (shape.rank() != 4)
    throw DataError("a volume must be [channels, z, y, x], got " + to_string(shape));
  if (of.channel < 0 || of.channel >= shape[0]) {
    throw ConfigError(
        fmt::format("[inspect] channel must be 0 to {} of these volumes, got {}; set --channel",
                    shape[0] - 1, of.channel));
  }
  ShownVolume volume{.extent = {shape[1], shape[2], shape[3]}};
  const Tensor channel = of.image.row(of.channel);
  volume.values.resize(static_cast<std::size_t>(channel.elements()));
  for_each_value(
      channel, [&](std::size_t i, double value) { volume.values[i] = static_cast<float>(value); });
  if (label.defined()) set_labels(volume, label, classes);
  return volume;
}

Voxel crossing(const ShownVolume& volume) {
  std::array<double, 3> centre{};
  double count = 0.0;
  const auto for_each_of_a_class = [&](const auto& work) {
    if (volume.labels.empty()) return;
    for_each_voxel(volume.extent, [&](const Voxel& at) {
      if (is_class(volume.labels[place(volume, at)])) work(at);
    });
  };
  for_each_of_a_class([&](const Voxel& at) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      centre[axis] += static_cast<double>(at[axis]);
    count += 1.0;
  });
  Voxel found{volume.extent[0] / 2, volume.extent[1] / 2, volume.extent[2] / 2};
  double nearest = std::numeric_limits<double>::infinity();
  for_each_of_a_class([&](const Voxel& at) {
    double distance = 0.0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      distance += std::pow(static_cast<double>(at[axis]) - centre[axis] / count, 2);
    if (distance >= nearest) return;
    nearest = distance;
    found = at;
  });
  return found;
}

GreyWindow grey_window(std::vector<float> values) {
  std::erase_if(values, [](float value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  const auto percentile = [&values](double share) {
    const auto at = values.begin() + std::lround(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  const GreyWindow window{.least = percentile(0.005), .most = percentile(0.995)};
  return window.least < window.most ? window : GreyWindow{window.least, window.least + 1.0F};
}

Pixels slice(const ShownVolume& volume, const GreyWindow& window, std::size_t axis,
             const Voxel& through, int side) {
  const Plane plane(axis, through);
  const std::int64_t rows = volume.extent[plane.down];
  const std::int64_t columns = volume.extent[plane.across];
  Pixels pixels{.width = static_cast<int>(columns), .height = static_cast<int>(rows)};
  pixels.rgb.resize(static_cast<std::size_t>(3 * rows * columns));
  std::uint8_t* to = pixels.rgb.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column, to += 3) {
      const Voxel at = plane.at(row, column);
      std::fill_n(to, 3, grey(volume.values[place(volume, at)], window));
      if (volume.labels.empty() || !is_contour(volume, plane, at)) continue;
      const std::uint8_t label = volume.labels[place(volume, at)];
      veil_with(std::span<std::uint8_t, 3>(to, 3),
                is_class(label) ? class_colour(label) : look::axis);
    }
  }
  return shrunk(std::move(pixels), side);
}

}  // namespace headrace::inline v1::app
