#include <headrace/apps/jobs/glaucoma/make_maps.h>

#include <opencv2/imgproc.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr int original_side = 28;

cv::Mat resized(const std::uint8_t* image, int side) {
  const cv::Mat original(original_side, original_side, CV_8UC1, const_cast<std::uint8_t*>(image));
  if (side == original_side) return original;
  cv::Mat result;
  cv::resize(original, result, {side, side}, 0.0, 0.0,
             side < original_side ? cv::INTER_AREA : cv::INTER_LINEAR);
  return result;
}

void gradient_magnitude(const cv::Mat& image, cv::Mat& out) {
  cv::Mat dx;
  cv::Mat dy;
  cv::Mat magnitude;
  cv::Sobel(image, dx, CV_32F, 1, 0);
  cv::Sobel(image, dy, CV_32F, 0, 1);
  cv::magnitude(dx, dy, magnitude);
  magnitude.convertTo(out, CV_8U, 0.25);  // Sobel's weights sum to 4 on each side of an edge
}

void rotated(const cv::Mat& image, double degrees, cv::Mat& out) {
  const float middle = static_cast<float>(image.rows - 1) / 2.0F;
  const cv::Mat turn = cv::getRotationMatrix2D({middle, middle}, degrees, 1.0);
  cv::warpAffine(image, out, turn, image.size(), cv::INTER_LINEAR, cv::BORDER_CONSTANT);
}

}  // namespace

void make_glaucoma_maps(const std::uint8_t* image, int side,
                        const std::array<std::uint8_t*, 6>& maps) {
  const cv::Mat base = resized(image, side);
  const double scale = static_cast<double>(side) / original_side;
  std::array<cv::Mat, 6> out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = cv::Mat(side, side, CV_8UC1, maps[i]);
  base.copyTo(out[0]);
  gradient_magnitude(base, out[1]);
  cv::GaussianBlur(base, out[2], {0, 0}, 1.0 * scale);
  cv::GaussianBlur(base, out[3], {0, 0}, 2.0 * scale);
  rotated(base, 10.0, out[4]);
  rotated(base, -10.0, out[5]);
}

}  // namespace headrace::inline v1::app
