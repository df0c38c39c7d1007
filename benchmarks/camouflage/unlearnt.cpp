#include <headrace/benchmarks/camouflage/unlearnt.h>

#include <algorithm>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace headrace::inline v1::bench {

namespace {

// OpenCV reads through pointers that are not const.
template <class T>
cv::Mat view(const T* data, int height, int width, int type) {
  return {height, width, type, const_cast<T*>(data)};
}

Levels stretched(const cv::Mat& values, double least, double largest) {
  Levels levels(values.total());
  cv::Mat to(values.rows, values.cols, CV_8U, levels.data());
  const double scale = largest > least ? 255.0 / (largest - least) : 0.0;
  values.convertTo(to, CV_8U, scale, -least * scale);
  return levels;
}

cv::Mat lab_of(const cv::Mat& rgb) {
  cv::Mat unit;
  rgb.convertTo(unit, CV_32FC3, 1.0 / 255.0);
  cv::Mat lab;
  cv::cvtColor(unit, lab, cv::COLOR_RGB2Lab);
  return lab;
}

}  // namespace

void MeanObject::add(const ObjectMask& mask) {
  cv::Mat share;
  view(mask.pixels.data(), mask.height, mask.width, CV_8U).convertTo(share, CV_32F);
  cv::Mat small;
  cv::resize(share, small, {side, side}, 0, 0, cv::INTER_AREA);
  const cv::Mat sum(side, side, CV_32F, sum_.data());
  cv::add(sum, small, sum);
}

Levels MeanObject::levels(int height, int width) const {
  cv::Mat large;
  cv::resize(view(sum_.data(), side, side, CV_32F), large, {width, height}, 0, 0, cv::INTER_LINEAR);
  double largest = 0.0;
  cv::minMaxLoc(large, nullptr, &largest);
  return stretched(large, 0.0, largest);
}

Levels saliency(const MarkedPicture& picture) {
  const cv::Mat rgb = view(picture.rgb.data(), picture.height, picture.width, CV_8UC3);
  const cv::Scalar mean = cv::mean(lab_of(rgb));
  cv::Mat blurred;
  cv::GaussianBlur(rgb, blurred, {5, 5}, 0);
  cv::Mat away;
  cv::subtract(lab_of(blurred), mean, away);
  std::array<cv::Mat, 3> channels;
  cv::split(away, channels.data());
  cv::Mat squares = channels[0].mul(channels[0]);
  squares += channels[1].mul(channels[1]);
  squares += channels[2].mul(channels[2]);
  cv::Mat distance;
  cv::sqrt(squares, distance);
  double least = 0.0;
  double largest = 0.0;
  cv::minMaxLoc(distance, &least, &largest);
  return stretched(distance, least, largest);
}

std::vector<std::uint8_t> above_otsu(const Levels& levels) {
  std::vector<std::uint8_t> marked(levels.size());
  const int pixels = static_cast<int>(levels.size());
  cv::Mat to(1, pixels, CV_8U, marked.data());
  cv::threshold(view(levels.data(), 1, pixels, CV_8U), to, 0, 1,
                cv::THRESH_BINARY | cv::THRESH_OTSU);
  return marked;
}

}  // namespace headrace::inline v1::bench
