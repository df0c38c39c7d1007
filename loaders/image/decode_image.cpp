#include <headrace/loaders/image/decode_image.h>

#include <cstring>
#include <span>

#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>

namespace headrace::inline v1 {
namespace {

std::span<const std::byte> bytes_of(const Tensor& file) {
  return {static_cast<const std::byte*>(file.raw()), file.bytes()};
}

std::string sides(int height, int width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

/// Nothing of an earlier sample stays where a decode failed.
void clear(Tensor& tensor) {
  std::memset(tensor.raw(), 0, tensor.bytes());
}

}  // namespace

void DecodeImage::check_file(const Schema& in, const std::string& file) const {
  const FieldSpec& spec = in.at(file, name());
  if (spec.dtype == DType::uint8 && spec.kind == FieldSpec::Kind::ragged) return;
  throw ConfigError("[" + name() + "] field \"" + file +
                    "\" must be the ragged uint8 bytes of a file, got " + to_string(spec));
}

Schema DecodeImage::schema(const Schema& in) const {
  check(crop, name());
  if (!(flip >= 0.0F && flip <= 1.0F)) {
    throw ConfigError("[" + name() + "] flip must be a probability, got " + std::to_string(flip));
  }
  if (mask_dtype != DType::uint8 && mask_dtype != DType::uint16) {
    throw ConfigError("[" + name() + "] mask_dtype must be uint8 or uint16, got " +
                      std::string(name_of(mask_dtype)));
  }
  if (device.is_cuda()) NvjpegDecoder::require(device, name());
  check_file(in, field);
  const auto [height, width] = size_of(crop);
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::uint8, Shape{height, width, 3}));
  for (const std::string& mask : masks) {
    check_file(in, mask);
    if (mask == field) throw ConfigError("[" + name() + "] \"" + mask + "\" is its own mask");
    out.put(FieldSpec::fixed(mask, mask_dtype, Shape{height, width}));
  }
  return out;
}

std::size_t DecodeImage::working_bytes(const Schema&) const {
  // A pre-scaled crop has less than twice the target's sides, or more along the side its ratio
  // stretches. Of a mask the crop's labels are held, as large as the file has them.
  const auto [height, width] = size_of(crop);
  const std::size_t pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  // A device's crop comes at full size: packed in page-locked memory, then 4 bytes a pixel.
  return pixels * (device.is_cuda() ? (3 + 4) * 16 : 4 * 8) + (masks.empty() ? 0 : pixels * 2 * 16);
}

void DecodeImage::operator()(Sample& sample, Random& random) const {
  const Tensor file = sample[field];
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(bytes_of(file));
  const ImageWindow window = place(crop, header.shown_width(), header.shown_height(), random);
  const bool flipped = random.chance(flip);
  const auto [height, width] = size_of(crop);
  Tensor& image = sample.make(field, DType::uint8, Shape{height, width, 3});
  try {
    decoder.decode(window, {.rgb = image.data<std::uint8_t>(),
                            .height = height,
                            .width = width,
                            .resample = resample,
                            .flip = flipped,
                            .prescale = prescale,
                            .device = device});
    decode_masks(sample, window, header, flipped);
  } catch (...) {
    clear(image);
    throw;
  }
}

void DecodeImage::decode_masks(Sample& sample, const ImageWindow& window, const ImageHeader& header,
                               bool flipped) const {
  const auto [height, width] = size_of(crop);
  for (const std::string& mask : masks) {
    const Tensor file = sample[mask];
    Tensor& labels = sample.make(mask, mask_dtype, Shape{height, width});
    try {
      ImageDecoder& decoder = ImageDecoder::this_thread();
      const ImageHeader found = decoder.open(bytes_of(file));
      if (found.shown_width() != header.shown_width() ||
          found.shown_height() != header.shown_height()) {
        throw DataError("must have the sides of its picture as it is shown, " +
                        sides(header.shown_height(), header.shown_width()) + ", got " +
                        sides(found.shown_height(), found.shown_width()));
      }
      decoder.decode_labels(window, {.labels = labels.raw(),
                                     .dtype = mask_dtype,
                                     .height = height,
                                     .width = width,
                                     .flip = flipped});
    } catch (const DataError& error) {
      clear(labels);
      throw DataError("mask \"" + mask + "\": " + error.what());
    }
  }
}

}  // namespace headrace::inline v1
