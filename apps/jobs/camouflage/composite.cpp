#include <headrace/apps/jobs/camouflage/composite.h>
#include <headrace/apps/jobs/camouflage/lab.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace headrace::inline v1::app {
namespace {

using Pixel = PictureLevels::Pixel;

constexpr double smallest_animal = 0.15;  // Of the side.
constexpr double largest_animal = 0.5;
constexpr double weakest = 0.5;
constexpr double strongest = 0.9;
constexpr double most_spread = 2.0;
constexpr double darkest = 0.5;  // Of the light's mean.
constexpr double brightest = 2.0;

/// A part of the picture in whole pixels: [left, right) x [top, bottom).
struct Box {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;

  int width() const { return right - left; }
  int height() const { return bottom - top; }
  std::size_t count() const {
    return static_cast<std::size_t>(width()) * static_cast<std::size_t>(height());
  }
};

/// The animal's pixels over its box.
struct Layer {
  Box box{};
  std::vector<Colour> colour{};
  std::vector<double> alpha{};  ///< 0 to 1, feathered
};

struct Moments {
  Colour mean{};
  Colour deviation{};
};

class MomentsOf {
 public:
  void add(const Colour& value) {
    ++count_;
    for (std::size_t c = 0; c < 3; ++c) {
      sum_[c] += value[c];
      squares_[c] += value[c] * value[c];
    }
  }
  Moments result() const {
    Moments moments;
    const double n = std::max(1.0, count_);
    for (std::size_t c = 0; c < 3; ++c) {
      moments.mean[c] = sum_[c] / n;
      moments.deviation[c] =
          std::sqrt(std::max(0.0, squares_[c] / n - moments.mean[c] * moments.mean[c]));
    }
    return moments;
  }

 private:
  double count_ = 0.0;
  Colour sum_{};
  Colour squares_{};
};

std::uint8_t rounded(double value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

std::size_t index_of(int x, int y, int width) {
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
         static_cast<std::size_t>(x);
}

std::vector<std::uint8_t> bare_picture(const PictureLevels& background, const CompositeDraw& draw) {
  const Placement& place = draw.background;
  const double step = place.size / draw.side;
  const int level = background.level_for(step);
  const double cosine = std::cos(place.turn) * step;
  const double sine = std::sin(place.turn) * step;
  std::vector<std::uint8_t> rgb;
  rgb.reserve(3 * index_of(0, draw.side, draw.side));
  for (int i = 0; i < draw.side; ++i) {
    for (int j = 0; j < draw.side; ++j) {
      const double across = (j + 0.5 - draw.side / 2.0) * (place.flip ? -1.0 : 1.0);
      const double down = i + 0.5 - draw.side / 2.0;
      const Pixel pixel = background.at(place.x + cosine * across - sine * down,
                                        place.y + sine * across + cosine * down, level);
      for (std::size_t c = 0; c < 3; ++c)
        rgb.push_back(rounded(255.0 * pixel[c] / std::max(pixel[3], 1.0)));
    }
  }
  return rgb;
}

/// How far an animal of longer side 1 reaches from its centre once it is turned.
std::array<double, 2> reach_of(const PictureLevels& animal, double turn) {
  const double longer = std::max(animal.width(), animal.height());
  const double w = animal.width() / longer / 2.0;
  const double h = animal.height() / longer / 2.0;
  const double cosine = std::abs(std::cos(turn));
  const double sine = std::abs(std::sin(turn));
  return {w * cosine + h * sine, w * sine + h * cosine};
}

Box box_around(const CompositeDraw& draw, double reach_x, double reach_y) {
  const auto low = [](double value) { return std::max(0, static_cast<int>(std::floor(value))); };
  const auto high = [&](double value) {
    return std::min(draw.side, static_cast<int>(std::ceil(value)));
  };
  return {low(draw.animal.x - reach_x), low(draw.animal.y - reach_y), high(draw.animal.x + reach_x),
          high(draw.animal.y + reach_y)};
}

/// The animal's pixels as sampled, colours multiplied by alpha.
std::vector<Pixel> sampled(const PictureLevels& animal, const CompositeDraw& draw, const Box& box) {
  const Placement& place = draw.animal;
  const double step = std::max(animal.width(), animal.height()) / place.size;
  const int level = animal.level_for(step);
  const double cosine = std::cos(place.turn) * step;
  const double sine = std::sin(place.turn) * step;
  std::vector<Pixel> pixels;
  pixels.reserve(box.count());
  for (int i = box.top; i < box.bottom; ++i) {
    for (int j = box.left; j < box.right; ++j) {
      const double dx = j + 0.5 - place.x;
      const double dy = i + 0.5 - place.y;
      const double across = (cosine * dx + sine * dy) * (place.flip ? -1.0 : 1.0);
      pixels.push_back(animal.at(animal.width() / 2.0 + across,
                                 animal.height() / 2.0 - sine * dx + cosine * dy, level));
    }
  }
  return pixels;
}

/// The binomial mean over three by three pixels.
Pixel softened(const std::vector<Pixel>& pixels, const Box& box, int x, int y) {
  Pixel sum{};
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (x + dx < 0 || y + dy < 0 || x + dx >= box.width() || y + dy >= box.height()) continue;
      const double weight = (dx == 0 ? 0.5 : 0.25) * (dy == 0 ? 0.5 : 0.25);
      const Pixel& pixel = pixels[index_of(x + dx, y + dy, box.width())];
      for (std::size_t c = 0; c < 4; ++c)
        sum[c] += weight * pixel[c];
    }
  }
  return sum;
}

/// Alpha is feathered; colours stay sharp, and where the animal was transparent they are those
/// beside it, so that no rim of another colour comes up.
Layer layer_of(const PictureLevels& animal, const CompositeDraw& draw) {
  const auto [reach_x, reach_y] = reach_of(animal, draw.animal.turn);
  Layer layer{
      .box = box_around(draw, reach_x * draw.animal.size + 1.0, reach_y * draw.animal.size + 1.0)};
  const std::vector<Pixel> pixels = sampled(animal, draw, layer.box);
  for (int y = 0; y < layer.box.height(); ++y) {
    for (int x = 0; x < layer.box.width(); ++x) {
      const Pixel soft = softened(pixels, layer.box, x, y);
      const Pixel& sharp = pixels[index_of(x, y, layer.box.width())];
      const Pixel& from = sharp[3] > 127.5 ? sharp : soft;
      layer.alpha.push_back(soft[3] < 1.0 ? 0.0 : soft[3] / 255.0);
      const double full = 255.0 / std::max(from[3], 1.0);
      layer.colour.push_back({from[0] * full, from[1] * full, from[2] * full});
    }
  }
  return layer;
}

Colour colour_at(const std::vector<std::uint8_t>& rgb, std::size_t pixel) {
  return {static_cast<double>(rgb[3 * pixel]), static_cast<double>(rgb[3 * pixel + 1]),
          static_cast<double>(rgb[3 * pixel + 2])};
}

/// Moves the animal's colours towards those around it: over its box, wider by a quarter.
void match_colours(Layer& layer, const std::vector<std::uint8_t>& bare, const CompositeDraw& draw) {
  const Box wide = box_around(draw, 0.625 * layer.box.width(), 0.625 * layer.box.height());
  MomentsOf around;
  for (int y = wide.top; y < wide.bottom; ++y)
    for (int x = wide.left; x < wide.right; ++x)
      around.add(lab_of(colour_at(bare, index_of(x, y, draw.side))));
  MomentsOf own;
  for (std::size_t i = 0; i < layer.colour.size(); ++i)
    if (layer.alpha[i] > 0.5) own.add(lab_of(layer.colour[i]));
  const Moments to = around.result();
  const Moments from = own.result();
  for (std::size_t i = 0; i < layer.colour.size(); ++i) {
    if (layer.alpha[i] == 0.0) continue;
    Colour lab = lab_of(layer.colour[i]);
    for (std::size_t c = 0; c < 3; ++c) {
      const double gain =
          std::min(most_spread, to.deviation[c] / std::max(from.deviation[c], 1e-6));
      const double matched = (lab[c] - from.mean[c]) * gain + to.mean[c];
      lab[c] += draw.strength * (matched - lab[c]);
    }
    layer.colour[i] = srgb_of(lab);
  }
}

/// Sums of the luminance over all pixels above and left of one: [side + 1, side + 1].
std::vector<double> luminance_sums(const std::vector<std::uint8_t>& rgb, int side) {
  std::vector<double> sums(index_of(0, side + 1, side + 1));
  for (int y = 0; y < side; ++y) {
    double row = 0.0;
    for (int x = 0; x < side; ++x) {
      row += luminance_of(light_of(colour_at(rgb, index_of(x, y, side))));
      sums[index_of(x + 1, y + 1, side + 1)] = sums[index_of(x + 1, y, side + 1)] + row;
    }
  }
  return sums;
}

/// Multiplies the animal's light by the background's mean over a quarter of the side around each
/// pixel, relative to that over all of the animal.
void shade(Layer& layer, const std::vector<std::uint8_t>& bare, int side) {
  const std::vector<double> sums = luminance_sums(bare, side);
  const int reach = std::max(1, side / 8);
  std::vector<double> low(layer.colour.size());
  double sum = 0.0;
  double weight = 0.0;
  for (int y = layer.box.top; y < layer.box.bottom; ++y) {
    for (int x = layer.box.left; x < layer.box.right; ++x) {
      const Box box{std::max(0, x - reach), std::max(0, y - reach), std::min(side, x + reach + 1),
                    std::min(side, y + reach + 1)};
      const auto at = [&](int column, int row) { return sums[index_of(column, row, side + 1)]; };
      const std::size_t i = index_of(x - layer.box.left, y - layer.box.top, layer.box.width());
      low[i] = (at(box.right, box.bottom) - at(box.left, box.bottom) - at(box.right, box.top) +
                at(box.left, box.top)) /
               static_cast<double>(box.count());
      sum += layer.alpha[i] * low[i];
      weight += layer.alpha[i];
    }
  }
  const double mean = std::max(sum / std::max(weight, 1e-6), 1e-6);
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (layer.alpha[i] == 0.0) continue;
    Colour light = light_of(layer.colour[i]);
    for (double& channel : light)
      channel *= std::clamp(low[i] / mean, darkest, brightest);
    layer.colour[i] = srgb_of_light(light);
  }
}

Placement draw_background(const PictureLevels& background, int side, Random& random) {
  Placement place{.turn = random.uniform(0.0, 2.0 * std::numbers::pi), .flip = random.chance(0.5)};
  const double turned = std::abs(std::cos(place.turn)) + std::abs(std::sin(place.turn));
  const double largest = std::min(background.width(), background.height()) / turned;
  const double smallest = std::min(largest, std::max<double>(side, largest / 4.0));
  place.size = smallest * std::pow(largest / smallest, random.uniform());
  const double half = place.size * turned / 2.0;
  place.x = random.uniform(half, std::max(half, background.width() - half));
  place.y = random.uniform(half, std::max(half, background.height() - half));
  return place;
}

}  // namespace

CompositeDraw draw_composite(const PictureLevels& background, const PictureLevels& animal, int side,
                             Random& random) {
  CompositeDraw draw{.side = side, .background = draw_background(background, side, random)};
  const double own = std::max(animal.width(), animal.height()) / static_cast<double>(side);
  const double largest = std::clamp(own, smallest_animal, largest_animal);
  Placement& place = draw.animal;
  place.size = side * random.uniform(smallest_animal, largest);
  place.turn = random.uniform(0.0, 2.0 * std::numbers::pi);
  place.flip = random.chance(0.5);
  const auto [reach_x, reach_y] = reach_of(animal, place.turn);
  place.x = random.uniform(reach_x * place.size, side - reach_x * place.size);
  place.y = random.uniform(reach_y * place.size, side - reach_y * place.size);
  draw.strength = random.uniform(weakest, strongest);
  return draw;
}

Composite compose(const PictureLevels& background, const PictureLevels& animal,
                  const CompositeDraw& draw) {
  Composite made{.bare = bare_picture(background, draw)};
  made.rgb = made.bare;
  made.mask.assign(index_of(0, draw.side, draw.side), 0);
  Layer layer = layer_of(animal, draw);
  match_colours(layer, made.bare, draw);
  shade(layer, made.bare, draw.side);
  for (std::size_t i = 0; i < layer.colour.size(); ++i) {
    const int column = static_cast<int>(i) % layer.box.width();
    const int row = static_cast<int>(i) / layer.box.width();
    const std::size_t pixel = index_of(layer.box.left + column, layer.box.top + row, draw.side);
    const double alpha = layer.alpha[i];
    made.mask[pixel] = alpha > 0.5 ? 255 : 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const double under = made.bare[3 * pixel + c];
      made.rgb[3 * pixel + c] = rounded(under + alpha * (layer.colour[i][c] - under));
    }
  }
  return made;
}

}  // namespace headrace::inline v1::app
