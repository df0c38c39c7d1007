#include <headrace/apps/jobs/camouflage/object_mask.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

constexpr std::uint8_t most_of_ground = 128;

// As the file stores it.
ObjectMask stored_mask(const Source& records, std::int64_t index) {
  try {
    Sample sample;
    records.read(index, sample);
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open(sample["mask"].as_bytes());
    const int height = header.shown_height();
    const int width = header.shown_width();
    ObjectMask mask{.height = height, .width = width};
    mask.pixels.resize(static_cast<std::size_t>(mask.height * mask.width));
    Random nothing_drawn;
    decoder.decode_labels(
        place(ResizeTo{.height = height, .width = width}, width, height, nothing_drawn),
        {.labels = mask.pixels.data(), .height = height, .width = width});
    return mask;
  } catch (const DataError& error) {
    throw DataError("[measures] mask of " + records.origin(index) + ": " + error.what());
  }
}

}  // namespace

ObjectMask read_object_mask(const Source& records, std::int64_t index) {
  ObjectMask mask = stored_mask(records, index);
  std::ranges::transform(mask.pixels, mask.pixels.begin(), [](std::uint8_t value) {
    return static_cast<std::uint8_t>(value > most_of_ground ? 1 : 0);
  });
  return mask;
}

int largest_of_mask(const Source& records, std::int64_t index) {
  return std::ranges::max(stored_mask(records, index).pixels);
}

}  // namespace headrace::inline v1::app
