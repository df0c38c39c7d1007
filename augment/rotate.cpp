#include <headrace/augment/rotate.h>

#include <cmath>
#include <cstring>

#include <headrace/augment/detail/picture.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1 {
namespace {

constexpr int fraction_bits = 31;  // of a coordinate in pixels
constexpr int weight_bits = 11;    // of a bilinear weight along one axis
constexpr std::int64_t one = std::int64_t{1} << fraction_bits;

struct Turn {
  std::int64_t cosine = 0;  ///< 30 fraction bits
  std::int64_t sine = 0;
};

/// From products and sums alone: the library's sine differs in its last bit from one processor to
/// another.
Turn turn_of(double angle) {
  const double quarter = std::nearbyint(angle / 90.0);
  const double x = (angle - 90.0 * quarter) * (3.14159265358979323846 / 180.0);
  double sine = 0;
  double cosine = 0;
  for (int k = 8; k > 0; --k) {  // Horner; the next term is below 2^-60 for |x| <= pi / 4
    sine = -x * x * (1 + sine) / ((2 * k) * (2 * k + 1));
    cosine = -x * x * (1 + cosine) / ((2 * k - 1) * (2 * k));
  }
  const auto fixed = [](double v) {
    return static_cast<std::int64_t>(std::nearbyint(std::ldexp(v, 30)));
  };
  const Turn turn{fixed(1 + cosine), fixed(x * (1 + sine))};
  switch (((static_cast<long>(quarter) % 4) + 4) % 4) {
    case 1:
      return {-turn.sine, turn.cosine};
    case 2:
      return {-turn.cosine, -turn.sine};
    case 3:
      return {turn.sine, -turn.cosine};
    default:
      return turn;
  }
}

/// A place in the source, 31 fraction bits, pixel centres at whole numbers.
struct Place {
  std::int64_t x;
  std::int64_t y;
};

struct Nearest {
  const detail::Picture& picture;
  std::uint8_t fill;

  void operator()(Place at, std::uint8_t* to) const {
    const std::int64_t x = (at.x + one / 2) >> fraction_bits;
    const std::int64_t y = (at.y + one / 2) >> fraction_bits;
    const auto channels = static_cast<std::size_t>(picture.channels);
    if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) {
      std::memset(to, fill, channels);
      return;
    }
    const std::uint8_t* from = picture.data + (y * picture.width + x) * picture.channels;
    for (std::size_t c = 0; c < channels; ++c)
      to[c] = from[c];
  }
};

struct Bilinear {
  const detail::Picture& picture;
  std::uint8_t fill;

  void operator()(Place at, std::uint8_t* to) const {
    const std::int64_t left = at.x >> fraction_bits;
    const std::int64_t top = at.y >> fraction_bits;
    const std::int64_t right_weight = (at.x & (one - 1)) >> (fraction_bits - weight_bits);
    const std::int64_t low_weight = (at.y & (one - 1)) >> (fraction_bits - weight_bits);
    std::int64_t weights[4];
    const std::uint8_t* from[4];
    std::int64_t inside = 0;
    for (int k = 0; k < 4; ++k) {
      const std::int64_t x = left + (k & 1);
      const std::int64_t y = top + (k >> 1);
      const bool in = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
      const std::int64_t across = (k & 1) != 0 ? right_weight : (1 << weight_bits) - right_weight;
      const std::int64_t down = (k >> 1) != 0 ? low_weight : (1 << weight_bits) - low_weight;
      weights[k] = in ? across * down : 0;
      inside += weights[k];
      from[k] = picture.data + (in ? (y * picture.width + x) * picture.channels : 0);
    }
    constexpr int bits = 2 * weight_bits;
    for (std::int64_t c = 0; c < picture.channels; ++c) {
      std::int64_t sum = 0;
      for (int k = 0; k < 4; ++k)
        sum += weights[k] * from[k][c];
      // torchvision: the sum, outside counted as zero, and the fill, by the share that lies inside.
      const std::int64_t outside = (std::int64_t{1} << bits) - inside;
      const std::int64_t mixed = inside * sum + outside * (std::int64_t{fill} << bits);
      to[c] =
          static_cast<std::uint8_t>((mixed + (std::int64_t{1} << (2 * bits - 1))) >> (2 * bits));
    }
  }
};

template <class Pick>
void turn_picture(const detail::Picture& picture, Turn turn, std::uint8_t* to, const Pick& pick) {
  // Places in half pixels from the centre times 30 bits are pixels with 31 bits.
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const std::int64_t dy = 2 * y + 1 - picture.height;
    const std::int64_t dx = 1 - picture.width;
    Place at{turn.cosine * dx - turn.sine * dy + (picture.width - 1) * (one / 2),
             turn.sine * dx + turn.cosine * dy + (picture.height - 1) * (one / 2)};
    for (std::int64_t x = 0; x < picture.width; ++x, to += picture.channels) {
      pick(at, to);
      at.x += 2 * turn.cosine;
      at.y += 2 * turn.sine;
    }
  }
}

}  // namespace

Schema Rotate::schema(const Schema& in) const {
  if (!(degrees >= 0 && degrees <= 360)) {
    throw ConfigError("[rotate] degrees must be 0 to 360, got " + std::to_string(degrees));
  }
  detail::picture_field(in, field, name());
  return in;
}

void Rotate::operator()(Sample& sample, Random& random) const {
  turn(sample, random.uniform(-degrees, degrees));
}

void Rotate::turn(Sample& sample, double angle) const {
  if (angle == 0.0) return;
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  std::uint8_t* to = sample.make(field, DType::uint8, from.shape()).data<std::uint8_t>();
  const Turn turn = turn_of(angle);
  if (interpolation == Interpolation::nearest) {
    turn_picture(picture, turn, to, Nearest{picture, fill});
  } else {
    turn_picture(picture, turn, to, Bilinear{picture, fill});
  }
}

}  // namespace headrace::inline v1
