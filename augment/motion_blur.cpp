#include <headrace/augment/detail/picture.h>
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/motion_blur.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headrace::inline v1 {
namespace {

constexpr int most_pixels = 63;
constexpr std::uint32_t whole = 1U << 16;  // the sum of all weights

struct Tap {
  int x = 0;
  int y = 0;
  std::uint32_t weight = 0;
};

struct Line {
  int reach = 0;  ///< of a tap from the middle, either way
  int count = 0;
  /// Room for four pixels a place.
  std::array<Tap, std::size_t{4} * most_pixels> taps{};

  void add(int x, int y, double weight) {
    const auto share = static_cast<std::uint32_t>(weight * whole + 0.5);
    if (share == 0) return;
    const auto end = taps.begin() + count;
    const auto same =
        std::find_if(taps.begin(), end, [&](const Tap& tap) { return tap.x == x && tap.y == y; });
    if (same == end) taps[static_cast<std::size_t>(count++)] = {.x = x, .y = y};
    same->weight += share;
  }
};

/// Its largest weight takes what rounding leaves.
Line line_of(int pixels, double angle) {
  Line line{.reach = pixels / 2};
  const detail::SineCosine turn = detail::sine_cosine(angle);
  for (int i = 0; i < pixels; ++i) {
    const double along = i - 0.5 * (pixels - 1);
    const double x = along * turn.cosine;
    const double y = along * turn.sine;
    const double left = std::floor(x);
    const double top = std::floor(y);
    for (int k = 0; k < 4; ++k) {
      const int right = k % 2;
      const int down = k / 2;
      const double share_x = right != 0 ? x - left : 1 - (x - left);
      const double share_y = down != 0 ? y - top : 1 - (y - top);
      line.add(static_cast<int>(left) + right, static_cast<int>(top) + down,
               share_x * share_y / pixels);
    }
  }
  std::uint32_t sum = 0;
  Tap* largest = line.taps.data();
  for (int i = 0; i < line.count; ++i) {
    Tap& tap = line.taps[static_cast<std::size_t>(i)];
    sum += tap.weight;
    if (tap.weight > largest->weight) largest = &tap;
  }
  largest->weight += whole - sum;
  return line;
}

/// The picture with `reach` reflected pixels on every side.
void extend(const detail::Picture& picture, int reach, std::uint8_t* to) {
  const std::int64_t channels = picture.channels;
  for (std::int64_t y = -reach; y < picture.height + reach; ++y) {
    const std::uint8_t* row =
        picture.data + detail::reflected(y, picture.height) * picture.row_bytes();
    const auto copy = [&](std::int64_t x, std::int64_t count) {
      const auto bytes = static_cast<std::size_t>(count * channels);
      std::memcpy(to, row + x * channels, bytes);
      to += bytes;
    };
    for (std::int64_t x = -reach; x < 0; ++x)
      copy(-x, 1);
    copy(0, picture.width);
    for (std::int64_t x = picture.width; x < picture.width + reach; ++x)
      copy(detail::reflected(x, picture.width), 1);
  }
}

std::size_t extended_bytes(std::int64_t height, std::int64_t width, std::int64_t channels,
                           int reach) {
  return static_cast<std::size_t>((height + 2 * reach) * (width + 2 * reach) * channels);
}

void smear(const detail::Picture& picture, const Line& line, const std::uint8_t* extended,
           std::uint32_t* sums, std::uint8_t* to) {
  const std::int64_t values = picture.row_bytes();
  const std::int64_t row = (picture.width + 2 * line.reach) * picture.channels;
  for (std::int64_t y = 0; y < picture.height; ++y, to += values) {
    std::fill(sums, sums + values, whole / 2);
    for (int k = 0; k < line.count; ++k) {
      const Tap& tap = line.taps[static_cast<std::size_t>(k)];
      const std::uint8_t* from =
          extended + (y + line.reach + tap.y) * row + (line.reach + tap.x) * picture.channels;
      for (std::int64_t i = 0; i < values; ++i)
        sums[i] += tap.weight * from[i];
    }
    for (std::int64_t i = 0; i < values; ++i)
      to[i] = static_cast<std::uint8_t>(sums[i] >> 16);
  }
}

}  // namespace

Schema MotionBlur::schema(const Schema& in) const {
  if (length[0] < 1 || length[0] > length[1] || length[1] > most_pixels) {
    throw ConfigError("[motion blur] length must be least <= most within 1 to 63, got " +
                      std::to_string(length[0]) + ", " + std::to_string(length[1]));
  }
  detail::check_probability(p, name());
  const FieldSpec& image = detail::picture_field(in, field, name());
  if (length[1] / 2 >= std::min(image.shape[0], image.shape[1])) {
    throw ConfigError("[motion blur] half the length must be less than the picture's sides, got " +
                      std::to_string(length[1]) + " for " + to_string(image) +
                      "; take a shorter one");
  }
  return in;
}

std::size_t MotionBlur::working_bytes(const Schema& in) const {
  const Shape& shape = detail::picture_field(in, field, name()).shape;
  return extended_bytes(shape[0], shape[1], shape[2], length[1] / 2) +
         static_cast<std::size_t>(shape[1] * shape[2]) * sizeof(std::uint32_t);
}

void MotionBlur::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  const auto pixels = length[0] + static_cast<int>(random.below(length[1] - length[0] + 1));
  blur(sample, pixels, 180 * random.uniform());
}

void MotionBlur::blur(Sample& sample, int pixels, double angle) const {
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  if (pixels / 2 >= std::min(picture.height, picture.width)) {
    throw DataError("picture must be larger than half the motion of " + std::to_string(pixels) +
                    " pixels, got " + to_string(from.shape()));
  }
  const Line line = line_of(pixels, angle);
  static thread_local detail::Scratch of_picture;
  static thread_local detail::Scratch of_sums;
  auto* extended = of_picture.reserve<std::uint8_t>(
      extended_bytes(picture.height, picture.width, picture.channels, line.reach));
  auto* sums = of_sums.reserve<std::uint32_t>(static_cast<std::size_t>(picture.row_bytes()));
  extend(picture, line.reach, extended);
  auto* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  smear(picture, line, extended, sums, to);
}

}  // namespace headrace::inline v1
