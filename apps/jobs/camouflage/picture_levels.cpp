#include <headrace/apps/jobs/camouflage/picture_levels.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::size_t place_of(const RgbaPicture& picture, int x, int y) {
  return 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
              static_cast<std::size_t>(x));
}

/// Each pixel the mean of two by two; of an odd last row or column twice the same.
RgbaPicture halved(const RgbaPicture& from) {
  RgbaPicture to{.width = (from.width + 1) / 2, .height = (from.height + 1) / 2};
  to.rgba.reserve(4 * static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height));
  for (int y = 0; y < to.height; ++y) {
    for (int x = 0; x < to.width; ++x) {
      const int right = std::min(2 * x + 1, from.width - 1);
      const int below = std::min(2 * y + 1, from.height - 1);
      for (std::size_t c = 0; c < 4; ++c) {
        const int sum = from.rgba[place_of(from, 2 * x, 2 * y) + c] +
                        from.rgba[place_of(from, right, 2 * y) + c] +
                        from.rgba[place_of(from, 2 * x, below) + c] +
                        from.rgba[place_of(from, right, below) + c];
        to.rgba.push_back(static_cast<std::uint8_t>((sum + 2) / 4));
      }
    }
  }
  return to;
}

}  // namespace

PictureLevels::PictureLevels(RgbaPicture picture) {
  for (std::size_t i = 0; i < picture.rgba.size(); i += 4) {
    for (std::size_t c = 0; c < 3; ++c) {
      const int product = picture.rgba[i + c] * picture.rgba[i + 3];
      picture.rgba[i + c] = static_cast<std::uint8_t>((product + 127) / 255);
    }
  }
  levels_.push_back(std::move(picture));
  while (std::min(levels_.back().width, levels_.back().height) > 1)
    levels_.push_back(halved(levels_.back()));
}

int PictureLevels::level_for(double step) const {
  const long level = std::lround(std::log2(std::max(step, 1.0)));
  return static_cast<int>(std::min<long>(level, static_cast<long>(levels_.size()) - 1));
}

PictureLevels::Pixel PictureLevels::at(double x, double y, int level) const {
  const RgbaPicture& picture = levels_[static_cast<std::size_t>(level)];
  const double scale = std::ldexp(1.0, -level);
  const double u = x * scale - 0.5;
  const double v = y * scale - 0.5;
  const double left = std::floor(u);
  const double top = std::floor(v);
  Pixel sum{};
  for (int corner = 0; corner < 4; ++corner) {
    const int dx = corner % 2;
    const int dy = corner / 2;
    const double px = left + dx;
    const double py = top + dy;
    if (px < 0 || py < 0 || px >= picture.width || py >= picture.height) continue;
    const double weight =
        (dx == 0 ? 1.0 - (u - left) : u - left) * (dy == 0 ? 1.0 - (v - top) : v - top);
    const std::uint8_t* pixel =
        &picture.rgba[place_of(picture, static_cast<int>(px), static_cast<int>(py))];
    for (std::size_t c = 0; c < 4; ++c)
      sum[c] += weight * pixel[c];
  }
  return sum;
}

void PictureLevels::drop_levels(int count) {
  const auto most = static_cast<std::ptrdiff_t>(levels_.size()) - 1;
  levels_.erase(levels_.begin(), levels_.begin() + std::min<std::ptrdiff_t>(count, most));
}

}  // namespace headrace::inline v1::app
