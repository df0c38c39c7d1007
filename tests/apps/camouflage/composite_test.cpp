#include <headrace/apps/jobs/camouflage/composite.h>
#include <headrace/apps/jobs/camouflage/lab.h>
#include <headrace/apps/jobs/camouflage/split_sources.h>
#include <headrace/tests/support/picture.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

constexpr int side = 96;

/// Opaque, greenish waves.
app::PictureLevels meadow(int width = 400, int height = 300) {
  RgbaPicture picture{.width = width, .height = height};
  const test::Pixels grey = test::picture(width, height, 1);
  for (const std::uint8_t value : grey) {
    const auto half = static_cast<std::uint8_t>(value / 2);
    picture.rgba.insert(picture.rgba.end(), {half, static_cast<std::uint8_t>(60 + half), 30, 255});
  }
  return app::PictureLevels(std::move(picture));
}

/// A red disc with stripes, transparent around it.
app::PictureLevels beetle(int size = 160) {
  RgbaPicture picture{.width = size, .height = size};
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const double dx = x + 0.5 - size / 2.0;
      const double dy = y + 0.5 - size / 2.0;
      const bool inside = dx * dx + dy * dy < size * size / 4.0;
      const std::uint8_t red = x / 8 % 2 == 0 ? 230 : 120;
      picture.rgba.insert(picture.rgba.end(),
                          {red, 40, 30, static_cast<std::uint8_t>(inside ? 255 : 0)});
    }
  }
  return app::PictureLevels(std::move(picture));
}

Random draws(std::int64_t number) {
  return Random({.seed = 7, .loader = hash_name("test"), .position = number});
}

app::Colour mean_where(const app::Composite& made, const std::vector<std::uint8_t>& rgb) {
  app::Colour sum{};
  double count = 0.0;
  for (std::size_t i = 0; i < made.mask.size(); ++i) {
    if (made.mask[i] == 0) continue;
    for (std::size_t c = 0; c < 3; ++c)
      sum[c] += rgb[3 * i + c];
    ++count;
  }
  for (double& channel : sum)
    channel /= count;
  return sum;
}

double distance(const app::Colour& a, const app::Colour& b) {
  return std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                   (a[2] - b[2]) * (a[2] - b[2]));
}

/// Whether a pixel of the mask lies within `reach` of one.
bool near_mask(const app::Composite& made, int x, int y, int reach) {
  for (int dy = -reach; dy <= reach; ++dy) {
    for (int dx = -reach; dx <= reach; ++dx) {
      const int column = x + dx;
      const int row = y + dy;
      if (column < 0 || row < 0 || column >= side || row >= side) continue;
      if (made.mask[static_cast<std::size_t>(row * side + column)] != 0) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("colours come back from L*a*b*, and known ones are where they belong") {
  for (const app::Colour& colour :
       {app::Colour{0, 0, 0}, app::Colour{255, 255, 255}, app::Colour{12, 200, 77}}) {
    const app::Colour again = app::srgb_of(app::lab_of(colour));
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(again[c] == doctest::Approx(colour[c]).epsilon(1e-3));
  }
  const app::Colour red = app::lab_of({255, 0, 0});
  CHECK(red[0] == doctest::Approx(53.24).epsilon(1e-3));
  CHECK(red[1] == doctest::Approx(80.09).epsilon(1e-3));
  CHECK(red[2] == doctest::Approx(67.20).epsilon(1e-3));
}

TEST_CASE("the mask is where the picture differs from its bare background, but for a rim") {
  const app::PictureLevels background = meadow();
  const app::PictureLevels animal = beetle();
  for (std::int64_t number = 0; number < 20; ++number) {
    Random random = draws(number);
    const app::CompositeDraw draw = app::draw_composite(background, animal, side, random);
    const app::Composite made = app::compose(background, animal, draw);
    std::size_t animal_pixels = 0;
    std::size_t same_inside = 0;
    std::size_t other_outside = 0;
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        const auto i = static_cast<std::size_t>(y * side + x);
        const bool same = std::equal(made.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                     made.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i + 3),
                                     made.bare.begin() + static_cast<std::ptrdiff_t>(3 * i));
        animal_pixels += made.mask[i] != 0 ? 1 : 0;
        same_inside += made.mask[i] != 0 && same ? 1 : 0;
        other_outside += !same && !near_mask(made, x, y, 3) ? 1 : 0;
      }
    }
    CHECK(other_outside == 0);
    CHECK(same_inside <= animal_pixels / 50);
    // A disc of the drawn diameter, wholly inside.
    const double disc = 3.14159 * draw.animal.size * draw.animal.size / 4.0;
    CHECK(static_cast<double>(animal_pixels) == doctest::Approx(disc).epsilon(0.08));
    CHECK(draw.animal.size >= 0.15 * side);
    CHECK(draw.animal.size <= 0.5 * side);
  }
}

TEST_CASE("an animal differs less from what is around it the stronger it is hidden") {
  const app::PictureLevels background = meadow();
  const app::PictureLevels animal = beetle();
  for (std::int64_t number = 0; number < 8; ++number) {
    Random random = draws(number);
    app::CompositeDraw draw = app::draw_composite(background, animal, side, random);
    double before = 1e9;
    for (const double strength : {0.0, 0.5, 0.9}) {
      draw.strength = strength;
      const app::Composite made = app::compose(background, animal, draw);
      const double contrast = distance(mean_where(made, made.rgb), mean_where(made, made.bare));
      CHECK(contrast < 0.8 * before);
      before = contrast;
    }
  }
}

TEST_CASE("an animal of few pixels is not enlarged, and the rim has no colour of its own") {
  const app::PictureLevels background = meadow();
  const app::PictureLevels small = beetle(20);
  double largest = 0.0;
  for (std::int64_t number = 0; number < 50; ++number) {
    Random random = draws(number);
    largest = std::max(largest, app::draw_composite(background, small, side, random).animal.size);
  }
  CHECK(largest <= 20.0);
  // A white disc cut out of black: with black colours behind alpha 0 no dark rim may come up.
  RgbaPicture white{.width = 120, .height = 120};
  for (int i = 0; i < 120 * 120; ++i) {
    const double dx = i % 120 - 59.5;
    const double dy = i / 120 - 59.5;
    const std::uint8_t value = dx * dx + dy * dy < 3000.0 ? 255 : 0;
    white.rgba.insert(white.rgba.end(), {value, value, value, value});
  }
  RgbaPicture pale{.width = 200, .height = 200};
  for (int i = 0; i < 200 * 200; ++i)
    pale.rgba.insert(pale.rgba.end(), {200, 200, 200, 255});
  Random random = draws(0);
  const app::PictureLevels sky(std::move(pale));
  const app::PictureLevels ball(std::move(white));
  app::CompositeDraw draw = app::draw_composite(sky, ball, side, random);
  draw.strength = 0.0;
  const app::Composite made = app::compose(sky, ball, draw);
  CHECK(*std::min_element(made.rgb.begin(), made.rgb.end()) >= 199);
  CHECK(*std::max_element(made.rgb.begin(), made.rgb.end()) >= 250);
}

TEST_CASE("a split has each kind of animal in one part, and each large super-class in all") {
  std::vector<app::SourceToSplit> animals;
  for (int i = 0; i < 60; ++i)
    animals.push_back({.kind = "kind" + std::to_string(i / 2),
                       .super_class = static_cast<std::size_t>(i % 20 < 10 ? 0 : 1)});
  for (const char* kind : {"ray", "eel", "cod"})
    animals.push_back({.kind = kind, .super_class = 2});
  animals.push_back({.kind = "frog", .super_class = 3});
  const std::vector<std::size_t> parts = app::split_animals(animals, 42);
  std::array<std::set<std::string>, app::camouflage_parts> kinds;
  std::array<std::set<std::size_t>, app::camouflage_parts> classes;
  for (std::size_t i = 0; i < animals.size(); ++i) {
    kinds.at(parts[i]).insert(animals[i].kind);
    classes.at(parts[i]).insert(animals[i].super_class);
  }
  CHECK(kinds[0].size() + kinds[1].size() + kinds[2].size() == 34);
  for (const auto& part : classes)
    CHECK((part.contains(0) && part.contains(1) && part.contains(2)));
  CHECK(kinds[0].contains("frog"));
  CHECK(app::split_animals(animals, 42) == parts);
  CHECK(app::split_animals(animals, 43) != parts);
  for (const std::size_t count : {3U, 11U, 12U}) {
    const std::vector<std::size_t> of = app::split_backgrounds(count, 42);
    CHECK(std::ranges::count(of, 1U) == 1);
    CHECK(std::ranges::count(of, 2U) == (count == 3 ? 1 : 2));
  }
}
