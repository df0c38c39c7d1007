#include <headrace/loaders/image/decode_image.h>

#include <algorithm>
#include <span>

#include <headrace/engine/error.h>
#include <headrace/loaders/image/image_decoder.h>

namespace headrace::inline v1 {

Schema DecodeImage::schema(const Schema& in) const {
  check(crop, name());
  if (!(flip >= 0.0F && flip <= 1.0F)) {
    throw ConfigError("[" + name() + "] flip must be a probability, got " + std::to_string(flip));
  }
  const FieldSpec& file = in.at(field, name());
  if (file.dtype != DType::uint8 || file.kind != FieldSpec::Kind::ragged) {
    throw ConfigError("[" + name() + "] field \"" + field +
                      "\" must be the ragged uint8 bytes of a file, got " + to_string(file));
  }
  const auto [height, width] = size_of(crop);
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::uint8, Shape{height, width, 3}));
  return out;
}

std::size_t DecodeImage::working_bytes(const Schema&) const {
  // A pre-scaled crop has less than twice the target's sides, or more along the side its ratio
  // stretches.
  const auto [height, width] = size_of(crop);
  return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * 4 * 8;
}

void DecodeImage::operator()(Sample& sample, Random& random) const {
  const Tensor file = sample[field];
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header =
      decoder.open({static_cast<const std::byte*>(file.raw()), file.bytes()});
  const ImageWindow window = place(crop, header.shown_width(), header.shown_height(), random);
  const bool flipped = random.chance(flip);
  const auto [height, width] = size_of(crop);
  Tensor& image = sample.make(field, DType::uint8, Shape{height, width, 3});
  auto* rgb = image.data<std::uint8_t>();
  try {
    decoder.decode(window, {.rgb = rgb,
                            .height = height,
                            .width = width,
                            .resample = resample,
                            .flip = flipped,
                            .prescale = prescale});
  } catch (...) {
    std::fill_n(rgb, image.bytes(), std::uint8_t{0});
    throw;
  }
}

}  // namespace headrace::inline v1
