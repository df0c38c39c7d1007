#include <headrace/benchmarks/camouflage/pictures.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <sstream>

namespace headrace::inline v1::bench {

namespace {

ImageWindow whole(const ImageHeader& header) {
  Random none;
  const int height = header.shown_height();
  const int width = header.shown_width();
  return place(WholeImage{.height = height, .width = width}, width, height, none);
}

// The pixels whose stored value is above `most`.
ObjectMask decode_mask(std::span<const std::byte> file, int most) {
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  ObjectMask mask{.height = header.shown_height(), .width = header.shown_width()};
  mask.pixels.resize(static_cast<std::size_t>(mask.height) * static_cast<std::size_t>(mask.width));
  decoder.decode_labels(whole(header), {.labels = mask.pixels.data(),
                                        .dtype = DType::uint8,
                                        .height = mask.height,
                                        .width = mask.width});
  for (std::uint8_t& pixel : mask.pixels)
    pixel = pixel > most ? 1 : 0;
  return mask;
}

ObjectMask object_of(const Sample& sample, const std::string& name) {
  ObjectMask mask = decode_mask(sample["mask"].as_bytes(), 127);
  if (std::ranges::find(mask.pixels, 1) == mask.pixels.end())
    throw DataError("[camouflage] the mask of " + name +
                    " must have an object, stored as values above 127, and has none");
  return mask;
}

}  // namespace

MarkedPictures::MarkedPictures(const std::filesystem::path& folder)
    : pairs_({.images = folder / "Imgs", .masks = folder / "GT_Object"}) {}

std::string MarkedPictures::name(std::int64_t index) const {
  return std::filesystem::path(pairs_.path(index)).stem();
}

ObjectMask MarkedPictures::read_mask(std::int64_t index) const {
  Sample sample;
  pairs_.read(index, sample);
  return object_of(sample, name(index));
}

MarkedPicture MarkedPictures::read(std::int64_t index) const {
  Sample sample;
  pairs_.read(index, sample);
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(sample["image"].as_bytes());
  MarkedPicture picture{.height = header.shown_height(), .width = header.shown_width()};
  picture.rgb.resize(3 * static_cast<std::size_t>(picture.height) *
                     static_cast<std::size_t>(picture.width));
  decoder.decode(whole(header), {.rgb = picture.rgb.data(),
                                 .height = picture.height,
                                 .width = picture.width,
                                 .prescale = false});
  picture.object = object_of(sample, name(index));
  if (picture.object.height != picture.height || picture.object.width != picture.width)
    throw DataError("[camouflage] " + name(index) + " and its mask must have one size, got " +
                    std::to_string(picture.height) + " x " + std::to_string(picture.width) +
                    " and " + std::to_string(picture.object.height) + " x " +
                    std::to_string(picture.object.width));
  return picture;
}

std::string animal_of(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream words(name);
  for (std::string part; std::getline(words, part, '-');)
    parts.push_back(part);
  if (parts.size() != 7 || parts[0] != "COD10K")
    throw DataError(
        "[camouflage] pictures must have COD10K's names, such as "
        "COD10K-CAM-2-Terrestrial-23-Cat-1234, got \"" +
        name + "\"; their bounds are taken over animals");
  return parts[5];
}

ObjectMask read_prediction(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    throw DataError("[camouflage] there is no predicted mask " + file.string() +
                    "; run `headrace predict` on all pictures");
  return decode_mask(read_whole_file(file, "camouflage"), 0);
}

}  // namespace headrace::inline v1::bench
