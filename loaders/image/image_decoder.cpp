#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/colour_labels.h>
#include <headrace/loaders/image/detail/device_picture.h>
#include <headrace/loaders/image/detail/label_sampler.h>
#include <headrace/loaders/image/detail/nvjpeg/device_jpeg.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_handle.h>
#include <headrace/loaders/image/detail/stored_window.h>
#include <headrace/loaders/image/filter_taps.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/loaders/image/pixel_buffer.h>
#include <headrace/loaders/image/resize_kernels.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

/// rows x columns pixels to columns x rows.
void transpose(const std::uint8_t* from, int rows, int columns, std::uint8_t* to) {
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x, from += 3) {
      std::memcpy(to + 3 * (static_cast<std::ptrdiff_t>(x) * rows + y), from, 3);
    }
  }
}

int brightest_of(const DecodedPixels& pixels) {
  std::uint8_t most = 0;
  for (int y = 0; y < pixels.region.height; ++y) {
    const std::uint8_t* row = pixels.data + pixels.stride * static_cast<std::size_t>(y);
    for (int x = 0; x < pixels.region.width; ++x, row += 4)
      most = std::max({most, row[0], row[1], row[2]});
  }
  return most;
}

bool is_whole(const ImageWindow& window, const ImageDecoder::Target& target,
              const ImageHeader& header) {
  return window.x == 0 && window.y == 0 && window.width == header.width &&
         window.height == header.height && target.width == header.width &&
         target.height == header.height;
}

[[noreturn]] void refuse_unknown(std::span<const std::byte> file) {
  std::string names;
  const std::span<const ImageFormat> formats = image_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) names += i + 1 < formats.size() ? ", " : " or ";
    names += formats[i].name;
  }
  throw DataError("image must be " + names + ", got " + std::to_string(file.size()) +
                  " bytes of another kind");
}

}  // namespace

ImageDecoder& ImageDecoder::this_thread() {
  static thread_local ImageDecoder decoder;
  return decoder;
}

ImageHeader ImageDecoder::open(std::span<const std::byte> file, std::size_t most_bytes) {
  decoder_ = nullptr;
  file_ = file;
  most_bytes_ = most_bytes;
  const ImageFormat* format = format_of(file);
  if (format == nullptr) refuse_unknown(file);
  const auto row = static_cast<std::size_t>(format - image_formats().data());
  if (row >= decoders_.size()) decoders_.resize(image_formats().size());
  if (!decoders_[row]) decoders_[row] = format->make_decoder();
  header_ = decoders_[row]->open(file);
  decoder_ = decoders_[row].get();
  return header_;
}

ImageHeader ImageDecoder::check(std::span<const std::byte> file, std::size_t most_bytes) {
  ImageHeader header = open(file, most_bytes);
  const Region whole{.width = header.width, .height = header.height};
  require_room(whole, decoder_->scales() ? 8 : 1);
  const DecodedPixels pixels = std::exchange(decoder_, nullptr)->check(whole);
  if (header.bits == 16) header.brightest = brightest_of(pixels);
  return header;
}

/// Before memory is taken.
void ImageDecoder::require_room(const Region& region, int scale, bool labels_too) const {
  std::size_t needed = opened().needed_bytes(region, scale);
  // Two bytes beside the four of each pixel that is decoded.
  if (labels_too)
    needed += std::min(needed / 2, std::size_t{2} * static_cast<std::size_t>(header_.width) *
                                       static_cast<std::size_t>(header_.height));
  if (needed <= most_bytes_) return;
  const auto mib = [](std::size_t bytes) {
    return std::to_string((bytes + 0xfffff) >> 20) + " MiB";
  };
  throw DataError(std::string(header_.format) + ": decoding it must take at most " +
                  mib(most_bytes_) + " (sample_limit), got a file of " +
                  std::to_string(header_.width) + " x " + std::to_string(header_.height) +
                  " pixels that takes " + mib(needed) +
                  "; raise the limit, or store it smaller (progressive JPEG and interlaced PNG are "
                  "held whole, baseline and plain ones in part)");
}

FormatDecoder& ImageDecoder::opened() const {
  if (decoder_ == nullptr) throw DataError("image: decode() without an open file");
  return *decoder_;
}

/// The labels of a region of the open file, as it stores them or by their colours.
DecodedLabels ImageDecoder::stored_labels(const Region& region,
                                          std::span<const MaskColour> colours) const {
  FormatDecoder& decoder = opened();
  require_room(region, 1, !colours.empty());
  if (colours.empty()) return decoder.decode_labels(region);
  if (!decoder.keeps_colours()) {
    throw DataError(std::string(header_.format) +
                    ": mask_colours need a file that keeps 8-bit red, green and blue (PNG, TIFF, "
                    "BMP, lossless WebP), got one of another kind; leave them out for files of "
                    "labels");
  }
  static thread_local detail::ColourLabels labels;
  return labels.labels(decoder.decode(region, 1), colours, header_.format);
}

void ImageDecoder::decode_labels(const ImageWindow& window, const LabelTarget& target) {
  static thread_local detail::LabelSampler sampler;
  const Region region = sampler.place(window, header_, target.width, target.height, target.flip);
  const DecodedLabels labels = stored_labels(region, target.colours);
  if (target.dtype == DType::uint8) {
    sampler.sample(labels, static_cast<std::uint8_t*>(target.labels));
  } else {
    sampler.sample(labels, static_cast<std::uint16_t*>(target.labels));
  }
}

void ImageDecoder::decode(const ImageWindow& window, const Target& target) {
  FormatDecoder& decoder = opened();
  const bool plain = header_.orientation == 1 && !target.flip && is_whole(window, target, header_);
  // Of four components the whole is held beside the target.
  const bool held = plain && header_.components == 4;
  require_room(held ? Region{.width = header_.width, .height = header_.height} : Region{}, 1);
  if (plain && decoder.decode_whole(target.rgb)) return;
  detail::StoredWindow stored =
      detail::to_stored(window, target.height, target.width, target.flip, header_);
  const bool scaled = target.prescale && decoder.scales();
  show(stored, scaled ? detail::largest_scale(stored) : 1, target);
}

/// Decodes what the window needs at 1/scale, and resizes it.
void ImageDecoder::show(detail::StoredWindow& window, int scale, const Target& target) {
  const Region region = detail::cut_to_reach(window, scale);
  require_room(region, scale);
  const DecodedPixels pixels = opened().decode(region, scale);
  detail::shrink(window, scale);
  const ResizeSource source{pixels.data, pixels.stride, pixels.region.x, pixels.region.y};
  if (!header_.transposed()) {
    resize_to_rgb(source, window.x, window.y, target.resample, target.rgb);
    return;
  }
  static thread_local detail::PixelBuffer turned;
  const std::size_t bytes =
      static_cast<std::size_t>(window.x.out) * 3 * static_cast<std::size_t>(window.y.out);
  resize_to_rgb(source, window.x, window.y, target.resample, turned.reserve(bytes));
  transpose(turned.data(), window.y.out, window.x.out, target.rgb);
}

bool ImageDecoder::describe(const ImageWindow& window, const Target& target, Device device,
                            detail::DevicePicture& picture) {
  const auto index = static_cast<std::size_t>(device.index);
  if (index >= probes_.size()) probes_.resize(index + 1);
  if (!probes_[index]) probes_[index] = std::make_shared<detail::NvjpegProbe>(device);
  if (!opened().suits_device()) return false;
  detail::StoredWindow stored =
      detail::to_stored(window, target.height, target.width, target.flip, header_);
  detail::cut_to_reach(stored, 1);
  const std::size_t length = detail::device_jpeg_length(file_);
  const detail::DevicePicture wanted{.file_bytes = static_cast<std::uint32_t>(length),
                                     .width = header_.width,
                                     .height = header_.height,
                                     .transposed = header_.transposed() ? 1 : 0,
                                     .x = stored.x,
                                     .y = stored.y};
  const auto is_narrow = [&](const ResizeAxis& axis) {
    return detail::most_taps(axis, target.resample) <= detail::most_kernel_taps;
  };
  if (length == 0 || wanted.bytes() > detail::DeviceJpegLimits::picture_bytes ||
      !is_narrow(stored.x) || !is_narrow(stored.y) || !probes_[index]->takes(file_.first(length))) {
    return false;
  }
  picture = wanted;
  return true;
}

void ImageDecoder::decode(const detail::DevicePicture& picture, const Target& target) {
  detail::StoredWindow stored{picture.x, picture.y};
  show(stored, 1, target);
}

}  // namespace headrace::inline v1
