#include <headrace/loaders/image/resize.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

/// Weight of pixel k for output i, straight from the definition.
double weight(const ResizeAxis& axis, int i, int k, Resample resample) {
  const double step = axis.length / axis.out;
  const double radius = resample == Resample::antialias ? std::max(1.0, step) : 1.0;
  const double centre = axis.start + (i + 0.5) * step;
  return k < axis.first || k >= axis.last
             ? 0.0
             : std::max(0.0, 1.0 - std::abs(k + 0.5 - centre) / radius);
}

std::vector<double> reference(const Pixels& pixels, int width, int height, int channels,
                              const ResizeAxis& x, const ResizeAxis& y, Resample resample) {
  std::vector<double> lines(static_cast<std::size_t>(height * x.out * channels));
  std::vector<double> out(static_cast<std::size_t>(y.out * x.out * channels));
  const auto blend = [&](const ResizeAxis& axis, int size, int i, auto value) {
    double sum = 0;
    double total = 0;
    for (int k = 0; k < size; ++k) {
      const double w = weight(axis, axis.reversed ? axis.out - 1 - i : i, k, resample);
      sum += w * value(k);
      total += w;
    }
    return sum / total;
  };
  for (int r = 0; r < height; ++r) {
    for (int i = 0; i < x.out; ++i) {
      for (int c = 0; c < channels; ++c) {
        lines[static_cast<std::size_t>((r * x.out + i) * channels + c)] =
            blend(x, width, i, [&](int k) {
              return double(pixels[static_cast<std::size_t>((r * width + k) * channels + c)]);
            });
      }
    }
  }
  for (int r = 0; r < y.out; ++r) {
    for (int i = 0; i < x.out * channels; ++i) {
      out[static_cast<std::size_t>(r * x.out * channels + i)] = blend(y, height, r, [&](int k) {
        return lines[static_cast<std::size_t>(k * x.out * channels + i)];
      });
    }
  }
  return out;
}

struct Case {
  int width, height;
  ResizeAxis x, y;
};

std::vector<Case> cases() {
  return {
      {60, 50, {0, 60, 0, 60, 44, false}, {0, 50, 0, 50, 37, false}},
      {60, 50, {0, 60, 0, 60, 7, true}, {0, 50, 0, 50, 5, false}},
      {13, 9, {0, 13, 0, 13, 40, false}, {0, 9, 0, 9, 31, true}},
      {60, 50, {3.25, 40.5, 3, 44, 22, true}, {10.75, 30, 10, 41, 17, false}},
      {60, 50, {5, 20, 0, 60, 20, false}, {7, 10, 0, 50, 10, false}},
      {1, 1, {0, 1, 0, 1, 3, false}, {0, 1, 0, 1, 5, false}},
      {300, 200, {0, 300, 0, 300, 2, false}, {0, 200, 0, 200, 1, false}},
      {2, 3, {0, 2, 0, 2, 1, false}, {0, 3, 0, 3, 1, false}},
  };
}

Pixels rgbx(const Pixels& pixels, int width, int height, std::size_t stride) {
  Pixels out(stride * static_cast<std::size_t>(height) + 128);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::copy_n(pixels.data() + 3 * (y * width + x), 3,
                  out.data() + stride * static_cast<std::size_t>(y) + 4 * x);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a resize stays within one level of a double-precision reference") {
  for (Resample resample : {Resample::antialias, Resample::bilinear}) {
    for (const Case& c : cases()) {
      const Pixels pixels = test::picture(c.width, c.height, 3);
      const std::size_t stride = static_cast<std::size_t>(c.width) * 4;
      const Pixels source = rgbx(pixels, c.width, c.height, stride);
      const auto wanted = reference(pixels, c.width, c.height, 3, c.x, c.y, resample);
      Pixels got(wanted.size());
      resize_to_rgb({source.data(), stride, 0, 0}, c.x, c.y, resample, got.data());
      double worst = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        worst = std::max(worst, std::abs(got[i] - wanted[i]));
      CAPTURE(c.width);
      CAPTURE(c.x.out);
      CAPTURE(static_cast<int>(resample));
      CHECK(worst <= 1.0);
    }
  }
}

TEST_CASE("every vector width gives the same bytes") {
  for (const Case& c : cases()) {
    const std::size_t stride = static_cast<std::size_t>(c.width) * 4;
    const Pixels source = rgbx(test::picture(c.width, c.height, 3), c.width, c.height, stride);
    const std::size_t bytes = static_cast<std::size_t>(c.x.out * c.y.out) * 3;
    Pixels chosen(bytes);
    resize_to_rgb({source.data(), stride, 0, 0}, c.x, c.y, Resample::antialias, chosen.data());
    int targets = 0;
    Pixels got(bytes + 1, 77);
    while (targets < 16 && detail::resize_to_rgb_on(targets, {source.data(), stride, 0, 0}, c.x,
                                                    c.y, Resample::antialias, got.data())) {
      CAPTURE(targets);
      CHECK(std::equal(chosen.begin(), chosen.end(), got.begin()));
      CHECK(got.back() == 77);  // nothing is written past the end
      ++targets;
    }
    CHECK(targets >= 2);
  }
}

TEST_CASE("the same size in gives the same bytes out, and reversed axes give the flip") {
  const int width = 31;
  const int height = 18;
  const Pixels pixels = test::picture(width, height, 3);
  const std::size_t stride = 4 * width;
  const Pixels source = rgbx(pixels, width, height, stride);
  Pixels got(pixels.size());
  const ResizeAxis x{0, width, 0, width, width, false};
  const ResizeAxis y{0, height, 0, height, height, false};
  for (Resample resample : {Resample::antialias, Resample::bilinear}) {
    resize_to_rgb({source.data(), stride, 0, 0}, x, y, resample, got.data());
    CHECK(got == pixels);
  }
  ResizeAxis mirrored = x;
  mirrored.reversed = true;
  resize_to_rgb({source.data(), stride, 0, 0}, mirrored, y, Resample::antialias, got.data());
  for (int r = 0; r < height; ++r) {
    for (int i = 0; i < width; ++i) {
      REQUIRE(std::equal(got.data() + 3 * (r * width + i), got.data() + 3 * (r * width + i) + 3,
                         pixels.data() + 3 * (r * width + width - 1 - i)));
    }
  }
}

TEST_CASE("levels at both ends survive a resize") {
  for (std::uint8_t level : {0, 1, 127, 254, 255}) {
    const Pixels source(64 * 4 * 48 + 128, level);
    Pixels got(20 * 15 * 3);
    resize_to_rgb({source.data(), 64 * 4, 0, 0}, {0, 64, 0, 64, 20, false},
                  {0, 48, 0, 48, 15, false}, Resample::antialias, got.data());
    CHECK(std::all_of(got.begin(), got.end(), [&](std::uint8_t v) { return v == level; }));
  }
}

TEST_CASE("any number of channels is resized alike") {
  for (int channels : {1, 2, 3, 4, 6}) {
    for (const Case& c : cases()) {
      const Pixels pixels = test::picture(c.width, c.height, channels);
      const auto wanted =
          reference(pixels, c.width, c.height, channels, c.x, c.y, Resample::antialias);
      Pixels got(wanted.size());
      resize_channels({pixels.data(), static_cast<std::size_t>(c.width * channels), 0, 0}, channels,
                      c.x, c.y, Resample::antialias, got.data());
      double worst = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        worst = std::max(worst, std::abs(got[i] - wanted[i]));
      CAPTURE(channels);
      CAPTURE(c.width);
      CAPTURE(c.x.out);
      CHECK(worst <= 1.0);
    }
  }
}
