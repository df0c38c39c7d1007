#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/label_sampler.h>
#include <headrace/loaders/image/detail/orientation.h>
#include <headrace/loaders/image/pixel_buffer.h>

namespace headrace::inline v1 {
namespace {

/// One shown axis of a window as an axis of the stored picture, of `side` pixels, that runs the
/// other way if `reversed`.
ResizeAxis stored_axis(double start, double length, int first, int count, int out, int side,
                       bool reversed) {
  if (reversed) {
    start = side - start - length;
    first = side - first - count;
  }
  return {start, length, first, first + count, out, reversed};
}

struct StoredWindow {
  ResizeAxis x;
  ResizeAxis y;
};

StoredWindow to_stored(const ImageWindow& window, const ImageDecoder::Target& target,
                       const ImageHeader& header) {
  const bool turned = header.transposed();
  const bool x_reversed = detail::x_runs_back(header.orientation);
  const bool y_reversed = detail::y_runs_back(header.orientation);
  const Region& bounds = window.bounds;
  const auto across = [&](int side, bool reversed) {
    ResizeAxis axis =
        stored_axis(window.x, window.width, bounds.x, bounds.width, target.width, side, reversed);
    axis.reversed = axis.reversed != target.flip;
    return axis;
  };
  const auto down = [&](int side, bool reversed) {
    return stored_axis(window.y, window.height, bounds.y, bounds.height, target.height, side,
                       reversed);
  };
  if (turned) return {down(header.width, x_reversed), across(header.height, y_reversed)};
  return {across(header.width, x_reversed), down(header.height, y_reversed)};
}

/// Cuts an axis's pixels down to those its filter can reach.
void cut_to_reach(ResizeAxis& axis, int scale) {
  const double reach = std::max<double>(scale, axis.length / axis.out) + scale;
  axis.first = std::max(axis.first, static_cast<int>(std::floor(axis.start - reach)));
  axis.last = std::min(axis.last, static_cast<int>(std::ceil(axis.start + axis.length + reach)));
}

/// What is left of a window after that.
Region cut_to_reach(StoredWindow& window, int scale) {
  cut_to_reach(window.x, scale);
  cut_to_reach(window.y, scale);
  return {.x = window.x.first,
          .y = window.y.first,
          .width = window.x.last - window.x.first,
          .height = window.y.last - window.y.first};
}

void shrink(ResizeAxis& axis, int scale) {
  axis.start /= scale;
  axis.length /= scale;
  axis.first /= scale;
  axis.last = (axis.last + scale - 1) / scale;
}

int largest_scale(const StoredWindow& window) {
  for (int scale = 8; scale > 1; scale /= 2) {
    if (window.x.length >= double(scale) * window.x.out &&
        window.y.length >= double(scale) * window.y.out) {
      return scale;
    }
  }
  return 1;
}

/// rows x columns pixels to columns x rows.
void transpose(const std::uint8_t* from, int rows, int columns, std::uint8_t* to) {
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x, from += 3) {
      std::memcpy(to + 3 * (static_cast<std::ptrdiff_t>(x) * rows + y), from, 3);
    }
  }
}

bool is_whole(const ImageWindow& window, const ImageDecoder::Target& target,
              const ImageHeader& header) {
  return window.x == 0 && window.y == 0 && window.width == header.width &&
         window.height == header.height && target.width == header.width &&
         target.height == header.height;
}

}  // namespace

ImageDecoder& ImageDecoder::this_thread() {
  static thread_local ImageDecoder decoder;
  return decoder;
}

ImageHeader ImageDecoder::open(std::span<const std::byte> file) {
  file_ = file;
  switch (format_of(file)) {
    case ImageFormat::jpeg:
      indexed_ = CropIndexedJpeg::recognises(file);
      header_ = indexed_ ? parts_.open(file) : jpeg_.open(file);
      break;
    case ImageFormat::png:
      header_ = png_.open(file);
      break;
    case ImageFormat::tiff:
      header_ = tiff_.open(file);
      break;
    default:
      header_ = codecs_.open(file);
      break;
  }
  return header_;
}

DecodedPixels ImageDecoder::pixels_of(const Region& region, int scale) {
  switch (header_.format) {
    case ImageFormat::jpeg:
      return indexed_ ? indexed_pixels_of(region, scale) : jpeg_.decode(region, scale);
    case ImageFormat::png:
      return png_.decode(region);
    case ImageFormat::tiff:
      return tiff_.decode(region);
    default:
      return codecs_.decode();
  }
}

DecodedLabels ImageDecoder::labels_of(const Region& region) {
  switch (header_.format) {
    case ImageFormat::jpeg:
      throw DataError("JPEG: its compression changes labels; store masks as PNG");
    case ImageFormat::png:
      return png_.decode_labels(region);
    case ImageFormat::tiff:
      return tiff_.decode_labels(region);
    default:
      return codecs_.decode_labels();
  }
}

void ImageDecoder::decode_labels(const ImageWindow& window, const LabelTarget& target) {
  static thread_local detail::LabelSampler sampler;
  const Region region = sampler.place(window, header_, target.width, target.height, target.flip);
  const DecodedLabels labels = labels_of(region);
  if (target.dtype == DType::uint8) {
    sampler.sample(labels, static_cast<std::uint8_t*>(target.labels));
  } else {
    sampler.sample(labels, static_cast<std::uint16_t*>(target.labels));
  }
}

DecodedPixels ImageDecoder::indexed_pixels_of(const Region& region, int scale) {
  const CropIndexedJpeg::Part part = parts_.part(region, scale);
  jpeg_.open_part(part.markers);
  Region inside = region;
  inside.x -= part.x;
  inside.y -= part.y;
  DecodedPixels pixels = jpeg_.decode_part(inside, scale, part.rows);
  pixels.region.x += part.x / scale;
  pixels.region.y += part.y / scale;
  return pixels;
}

std::optional<DecodedPixels> ImageDecoder::device_pixels_of(const Region& region, Device device) {
  const auto index = static_cast<std::size_t>(device.index);
  if (index >= on_devices_.size()) {
    NvjpegDecoder::require(device, "decode");
    on_devices_.resize(index + 1);
  }
  std::unique_ptr<NvjpegDecoder>& decoder = on_devices_[index];
  if (!decoder) decoder = std::make_unique<NvjpegDecoder>(device);
  std::optional<DecodedPixels> pixels;
  if (header_.format == ImageFormat::jpeg && !indexed_ && jpeg_.is_plain())
    pixels = decoder->decode(file_, header_, region);
  detail::count_device_decode(pixels.has_value());
  return pixels;
}

void ImageDecoder::decode(const ImageWindow& window, const Target& target) {
  const bool jpeg = header_.format == ImageFormat::jpeg;
  if (jpeg && header_.orientation == 1 && !target.flip && is_whole(window, target, header_) &&
      !target.device.is_cuda()) {
    if (indexed_) jpeg_.open(parts_.jpeg());
    jpeg_.decode_whole(target.rgb);
    return;
  }
  StoredWindow stored = to_stored(window, target, header_);
  std::optional<DecodedPixels> decoded;
  if (target.device.is_cuda()) {
    StoredWindow full = stored;
    decoded = device_pixels_of(cut_to_reach(full, 1), target.device);
  }
  const int scale = jpeg && target.prescale && !decoded ? largest_scale(stored) : 1;
  const Region region = cut_to_reach(stored, scale);
  const DecodedPixels pixels = decoded ? *decoded : pixels_of(region, scale);
  shrink(stored.x, scale);
  shrink(stored.y, scale);
  const ResizeSource source{pixels.data, pixels.stride, pixels.region.x, pixels.region.y};
  if (!header_.transposed()) {
    resize_to_rgb(source, stored.x, stored.y, target.resample, target.rgb);
    return;
  }
  static thread_local detail::PixelBuffer turned;
  const std::size_t bytes =
      static_cast<std::size_t>(stored.x.out) * 3 * static_cast<std::size_t>(stored.y.out);
  resize_to_rgb(source, stored.x, stored.y, target.resample, turned.reserve(bytes));
  transpose(turned.data(), stored.y.out, stored.x.out, target.rgb);
}

}  // namespace headrace::inline v1
