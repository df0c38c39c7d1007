#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg_error.h>
#include <headrace/loaders/image/detail/jpeg_output.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/pack/detail/pack_record.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <memory>
#include <span>

namespace headrace::inline v1::detail {
namespace {

std::vector<std::byte> copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

struct Pixels {
  std::vector<std::uint8_t> rgb;
  int width = 0;
  int height = 0;
};

/// The whole picture as it is to be shown, shrunk to a longest side below its own.
Pixels shrunk(std::span<const std::byte> file, int longest_side) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  const int width = header.shown_width();
  const int height = header.shown_height();
  const int longest = std::max(width, height);
  Pixels pixels{.rgb = {}, .width = width, .height = height};
  const double scale = double(longest_side) / longest;
  pixels.width = std::max(1, static_cast<int>(std::lround(width * scale)));
  pixels.height = std::max(1, static_cast<int>(std::lround(height * scale)));
  pixels.rgb.resize(std::size_t(pixels.width) * std::size_t(pixels.height) * 3);
  const ImageWindow window{0, 0, double(width), double(height), {.width = width, .height = height}};
  decoder.decode(window, {.rgb = pixels.rgb.data(),
                          .height = pixels.height,
                          .width = pixels.width,
                          .prescale = false});
  return pixels;
}

/// What the options make of one image; the entry's content and sides are set.
std::vector<std::byte> convert(std::span<const std::byte> file, const PackOptions& options,
                               PackEntry& entry) {
  const ImageHeader header = ImageDecoder::this_thread().open(file);
  entry.width = static_cast<std::uint32_t>(header.shown_width());
  entry.height = static_cast<std::uint32_t>(header.shown_height());
  std::vector<std::byte> image;
  bool is_jpeg = header.format == "JPEG";
  const int longest = std::max(header.width, header.height);
  if (options.longest_side > 0 && longest > options.longest_side) {
    const Pixels pixels = shrunk(file, options.longest_side);
    image = encode_jpeg(pixels.rgb.data(), pixels.width, pixels.height, options.quality);
    entry.width = static_cast<std::uint32_t>(pixels.width);
    entry.height = static_cast<std::uint32_t>(pixels.height);
    entry.content = PackContent::shrunk;
    is_jpeg = true;
    file = image;
  }
  if (image.empty()) ImageDecoder::this_thread().check(file);
  if (options.crop_index && is_jpeg) {
    try {
      std::vector<std::byte> indexed = make_crop_indexed(file, options.index);
      entry.content = PackContent::crop_indexed;
      return indexed;
    } catch (const DataError&) {
      // A sound file that has no index stays as it is.
    }
  }
  return image.empty() ? copy(file) : image;
}

struct Encoder {
  jpeg_compress_struct info{};
  JpegError errors{};
  JpegOutput output;

  ~Encoder() { jpeg_destroy_compress(&info); }
  /// False when the library gave up.
  bool run(const std::uint8_t* rgb, int width, int height, int quality);
};

bool Encoder::run(const std::uint8_t* rgb, int width, int height, int quality) {
  errors.attach(info.err);
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_compress(&info);
  output.attach(info);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.optimize_coding = TRUE;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(rgb + std::size_t{info.next_scanline} * info.image_width * 3);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::vector<std::byte> encode_jpeg(const std::uint8_t* rgb, int width, int height, int quality) {
  Encoder encoder;
  if (!encoder.run(rgb, width, height, quality))
    throw ResourceError("[pack] JPEG: the encoder gave up, most likely for want of memory");
  const std::span<const std::byte> written = encoder.output.bytes();
  return {written.begin(), written.end()};
}

PackRecord make_pack_record(const ListedImages& source, std::int64_t index,
                            const PackOptions& options) {
  PackRecord record;
  record.entry.label = source.label(index);
  record.entry.state = PackState::skipped;
  Sample sample;
  try {
    source.read(index, sample);
    const std::span<const std::byte> file = sample["image"].as_bytes();
    record.input_bytes = file.size();
    record.image = convert(file, options, record.entry);
    if (source.has_masks()) {
      const std::span<const std::byte> mask = sample["mask"].as_bytes();
      ImageDecoder::this_thread().check(mask);
      record.input_bytes += mask.size();
      record.mask = copy(mask);
    }
  } catch (const DataError& error) {
    record.bad = error.what();
    return record;
  }
  if (std::max(record.image.size(), record.mask.size()) >= PackFormat::most_record_bytes) {
    record.bad = "a record must be below 2 GiB";
    return record;
  }
  record.entry.state = PackState::whole;
  record.entry.image_bytes = record.image.size();
  record.entry.mask_bytes = record.mask.size();
  record.entry.image_checksum = checksum_of(record.image.data(), record.image.size());
  record.entry.mask_checksum = checksum_of(record.mask.data(), record.mask.size());
  return record;
}

}  // namespace headrace::inline v1::detail
