#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/jpeg_writer.h>
#include <headrace/loaders/image/pack/detail/pack_record.h>

#include <algorithm>
#include <cmath>
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

}  // namespace

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
