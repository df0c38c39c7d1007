#include <headrace/augment/clahe.h>
#include <headrace/augment/detail/lab.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/pixels.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>
#include <opencv2/imgproc.hpp>

using namespace headrace;
using headrace::test::Pixels;

namespace {

Pixels equalised(const Clahe& op, const Pixels& pixels, int height, int width, int channels) {
  Sample sample = test::sample_of(pixels, height, width, channels);
  op(sample);
  return test::pixels_of(sample);
}

Pixels pixels_of(const cv::Mat& mat) {
  return {mat.datastart, mat.dataend};
}

/// OpenCV's own, as work on retinas does it.
Pixels opencv_clahe(const Clahe& op, Pixels pixels, int height, int width, int channels) {
  cv::Mat image(height, width, CV_8UC(channels), pixels.data());
  auto clahe = cv::createCLAHE(op.clip_limit, cv::Size(op.tiles_wide, op.tiles_high));
  cv::Mat result;
  if (channels == 1) {
    clahe->apply(image, result);
    return pixels_of(result);
  }
  cv::Mat lab;
  cv::cvtColor(image, lab, cv::COLOR_RGB2Lab);
  std::vector<cv::Mat> planes;
  cv::split(lab, planes);
  clahe->apply(planes[0], planes[0]);
  cv::merge(planes, lab);
  cv::cvtColor(lab, result, cv::COLOR_Lab2RGB);
  return pixels_of(result);
}

struct Size {
  int height;
  int width;
};

}  // namespace

TEST_CASE("grey pictures get OpenCV's bytes, whether tiles divide them or not") {
  for (const auto [height, width] :
       {Size{64, 64}, {64, 72}, {61, 64}, {64, 61}, {75, 93}, {16, 17}}) {
    for (const double limit : {0.0, 0.5, 2.5, 40.0}) {
      for (const int tiles : {1, 4, 8}) {
        const Clahe op{.clip_limit = limit, .tiles_high = tiles, .tiles_wide = 8};
        const Pixels waves = test::picture(width, height, 1);
        CHECK(equalised(op, waves, height, width, 1) == opencv_clahe(op, waves, height, width, 1));
      }
    }
  }
}

TEST_CASE("colours are taken to Lab and back as OpenCV takes them, over the whole cube") {
  Pixels colours;
  for (int r = 0; r < 256; r += 3) {
    for (int g = 0; g < 256; g += 3) {
      for (int b = 0; b < 256; b += 3) {
        for (int v : {r, g, b})
          colours.push_back(static_cast<std::uint8_t>(v));
      }
    }
  }
  const int count = static_cast<int>(colours.size() / 3);
  cv::Mat wanted;
  cv::cvtColor(cv::Mat(1, count, CV_8UC3, colours.data()), wanted, cv::COLOR_RGB2Lab);
  Pixels lab(colours.size());
  detail::rgb_to_lab(colours.data(), count, lab.data());
  const Pixels opencv = pixels_of(wanted);
  int most = 0;
  for (std::size_t i = 0; i < lab.size(); ++i) {
    const int apart = std::abs(lab[i] - opencv[i]);
    if (i % 3 == 0) REQUIRE(apart == 0);  // the lightness, which is equalised
    most = std::max(most, apart);
  }
  CHECK(most <= 1);
  cv::Mat back;
  cv::cvtColor(wanted, back, cv::COLOR_Lab2RGB);
  Pixels rgb(colours.size());
  detail::lab_to_rgb(opencv.data(), count, rgb.data());
  CHECK(test::most_apart(rgb, pixels_of(back)) <= 2);
}

TEST_CASE("coloured pictures are within two levels of OpenCV's") {
  for (const auto [height, width] : {Size{64, 64}, {75, 93}}) {
    for (const Pixels& pixels : {test::picture(width, height, 3), test::noise(width, height, 3)}) {
      const Clahe op{};
      CHECK(test::most_apart(equalised(op, pixels, height, width, 3),
                             opencv_clahe(op, pixels, height, width, 3)) <= 2);
    }
  }
}

TEST_CASE("clahe refuses what cannot be right") {
  const Schema in = test::picture_schema(64, 64, 3);
  CHECK(Clahe{}.schema(in) == in);
  CHECK(Clahe{}.working_bytes(in) >= 64 * 256);
  CHECK_THROWS_AS((Clahe{.clip_limit = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Clahe{.tiles_high = 0}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Clahe{.tiles_wide = 33}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Clahe{}.schema(test::picture_schema(64, 64, 4))), ConfigError);
  CHECK_THROWS_AS(equalised({}, test::noise(15, 64, 1), 64, 15, 1), DataError);
}
