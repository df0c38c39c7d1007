#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/apps/jobs/glaucoma/file.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>

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

// The six maps of one grey image, each `side` x `side` uint8, row-major: the image itself, the
// magnitude of its gradient (Sobel), two Gaussian blurs (sigma 1 and 2 pixels of the original
// scale), two rotations (+10 and -10 degrees). `image` is 28 x 28 uint8; other sides are reached
// by bilinear resizing (area averaging where it shrinks). Thread-safe.
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

// Bytes of the six maps that are made before they are written.
constexpr std::int64_t block_bytes = 48LL << 20;
constexpr std::int64_t original_pixels = 28 * 28;

std::string dataset_of(std::string_view map) {
  return "/features/" + std::string(map);
}

class MapBlock {
 public:
  MapBlock(std::int64_t rows, int side) : side_(side) {
    for (Tensor& map : maps_)
      map = Tensor::empty(DType::uint8, {rows, side, side});
  }

  // Makes the maps of rows [first, first + count) of the file, on several threads.
  void fill(const GlaucomaImages& samples, std::int64_t first, std::int64_t count, int threads) {
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
      for (std::int64_t k = next++; k < count; k = next++)
        make(samples, first + k, k);
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads; ++i)
      helpers.emplace_back(work);
    work();
  }

  const Tensor& operator[](std::size_t map) const { return maps_[map]; }

 private:
  void make(const GlaucomaImages& samples, std::int64_t row, std::int64_t k) {
    std::array<std::uint8_t*, 6> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = maps_[i].data<std::uint8_t>() + k * side_ * side_;
    }
    const std::int64_t image = samples.rows[static_cast<std::size_t>(row)];
    make_glaucoma_maps(samples.images.data<std::uint8_t>() + image * original_pixels, side_, out);
  }

  int side_;
  std::array<Tensor, 6> maps_;
};

Tensor one_hot(const std::vector<std::uint8_t>& classes) {
  Tensor rows =
      Tensor::zeros(DType::uint8, {static_cast<std::int64_t>(classes.size()), glaucoma_classes});
  for (std::size_t i = 0; i < classes.size(); ++i) {
    rows.data<std::uint8_t>()[i * glaucoma_classes + classes[i]] = 1;
  }
  return rows;
}

}  // namespace

void write_glaucoma_file(const GlaucomaImages& samples, const GlaucomaFileOptions& options) {
  const auto all = static_cast<std::int64_t>(samples.rows.size());
  const Shape map{options.side, options.side};
  const std::int64_t block = std::clamp<std::int64_t>(block_bytes / (6 * map.elements()), 1, all);
  Hdf5Writer writer(options.file);
  for (const std::string_view name : glaucoma_map_names) {
    writer.add(dataset_of(name), DType::uint8, all, map);
  }
  writer.add("/labels", DType::uint8, all, {glaucoma_classes});
  writer.add("/split", DType::uint8, all, {});
  writer.attribute("recipe", options.recipe);
  writer.append("/labels", one_hot(samples.classes));
  writer.append("/split", Tensor::of<std::uint8_t>(samples.split, {all}));

  MapBlock maps(block, options.side);
  for (std::int64_t first = 0; first < all; first += block) {
    const std::int64_t count = std::min(block, all - first);
    maps.fill(samples, first, count, options.threads);
    for (std::size_t i = 0; i < glaucoma_map_names.size(); ++i) {
      writer.append(dataset_of(glaucoma_map_names[i]), maps[i].rows(0, count));
    }
    if (options.progress) options.progress(first + count, all);
  }
  writer.finish();
}

bool has_glaucoma_file(const std::filesystem::path& file, const std::string& recipe) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  try {
    if (read_hdf5_text(file, "recipe") != recipe) return false;
    Hdf5TableOptions options{.file = file, .residence = Residence::pread};
    for (const std::string_view name : glaucoma_map_names) {
      options.fields.push_back({.name = {}, .dataset = dataset_of(name)});
    }
    options.fields.push_back({.name = {}, .dataset = "/labels"});
    options.fields.push_back({.name = {}, .dataset = "/split"});
    return Hdf5Table(options).size() > 0;
  } catch (const Error&) {
    return false;  // damaged, or something else altogether: made anew
  }
}

}  // namespace headrace::inline v1::app
