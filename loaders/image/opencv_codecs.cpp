// The module: the only code of ours that links OpenCV's codecs.
#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/opencv_codecs_abi.h>

#include <cstdio>
#include <exception>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

namespace {

int refuse(char* message, size_t message_size, const char* reason) {
  std::snprintf(message, message_size, "%s", reason);
  return 1;
}

}  // namespace

extern "C" HEADRACE_API int headrace_decode_image(const uint8_t* bytes, size_t size,
                                                  uint8_t* pixels, size_t stride, int width,
                                                  int height, char* message, size_t message_size) {
  try {
    const cv::Mat file(1, static_cast<int>(size), CV_8UC1, const_cast<uint8_t*>(bytes));
    const cv::Mat image = cv::imdecode(file, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
    if (image.empty())
      return refuse(message, message_size, "broken, cut off, or of an unknown kind");
    if (image.cols != width || image.rows != height || image.type() != CV_8UC3) {
      return refuse(message, message_size, "its image has another size than its header says");
    }
    for (int y = 0; y < height; ++y) {
      const uint8_t* from = image.ptr<uint8_t>(y);
      uint8_t* to = pixels + stride * static_cast<size_t>(y);
      for (int x = 0; x < width; ++x, from += 3, to += 4) {
        to[0] = from[2];
        to[1] = from[1];
        to[2] = from[0];
        to[3] = 255;
      }
    }
    return 0;
  } catch (const std::exception& error) {
    return refuse(message, message_size, error.what());
  } catch (...) {
    return refuse(message, message_size, "unknown failure of the codec");
  }
}
