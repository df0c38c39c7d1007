#include <headrace/apps/jobs/camouflage/object_mask.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>
#include <string>

namespace headrace::inline v1::app {
namespace {

constexpr std::uint8_t most_of_ground = 128;

}  // namespace

ObjectMask read_object_mask(const Source& records, std::int64_t index) {
  try {
    Sample sample;
    records.read(index, sample);
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open(sample["mask"].as_bytes());
    ObjectMask mask{.height = header.shown_height(), .width = header.shown_width()};
    mask.pixels.resize(static_cast<std::size_t>(mask.height * mask.width));
    Random nothing_drawn;
    decoder.decode_labels(
        place(ResizeTo{.height = header.shown_height(), .width = header.shown_width()},
              header.shown_width(), header.shown_height(), nothing_drawn),
        {.labels = mask.pixels.data(),
         .height = header.shown_height(),
         .width = header.shown_width()});
    std::ranges::transform(mask.pixels, mask.pixels.begin(),
                           [](std::uint8_t value) { return value > most_of_ground ? 1 : 0; });
    return mask;
  } catch (const DataError& error) {
    throw DataError("[measures] mask of " + records.origin(index) + ": " + error.what());
  }
}

}  // namespace headrace::inline v1::app
