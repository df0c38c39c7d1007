#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/resize_image.h>
#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/loaders/picture_pairs.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;

namespace {

/// Pictures of several kinds, each with a mask.
class MixedPairs final : public test::PicturePairs {
 public:
  MixedPairs() {
    for (int i = 0; i < 40; ++i) {
      const int width = 60 + 7 * (i % 9);
      const int height = 50 + 5 * (i % 7);
      const auto seed = static_cast<unsigned>(i);
      const test::Pixels rgb = test::picture(width, height, 3, seed);
      const test::PngSpec mask{.width = width, .height = height, .colour = PNG_COLOR_TYPE_GRAY};
      add(i % 4 == 3 ? test::encode_tiff({.width = width, .height = height}, rgb)
                     : test::encode_jpeg({.width = width,
                                          .height = height,
                                          .h_samp = 1 + i % 2,
                                          .progressive = i % 4 == 2},
                                         rgb),
          test::encode_png(mask, test::picture(width, height, 1, seed),
                           static_cast<std::size_t>(width)));
    }
  }
};

/// Every byte of two epochs.
std::vector<std::uint8_t> two_epochs(int threads, std::uint64_t seed) {
  static const auto source = std::make_shared<const MixedPairs>();
  Loader loader =
      Pipeline::from(source)
          .order(Shuffled{.seed = seed})
          .then(DecodeImage{.crop = RandomResizedCrop{40, 36}, .flip = 0.5F, .masks = {"mask"}})
          .then(Resize{.height = 30, .width = 34, .masks = {"mask"}})
          .batch({.size = 8})
          .build({.runtime = Runtime({.threads = threads})});
  std::vector<std::uint8_t> bytes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* field : {"image", "mask"}) {
        const auto values = batch[field].values<std::uint8_t>();
        bytes.insert(bytes.end(), values.begin(), values.end());
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("pictures and masks are the same bytes for 1, 2 and 8 threads") {
  const auto one = two_epochs(1, 3);
  CHECK(one.size() == std::size_t{2} * 40 * 30 * 34 * 4);
  CHECK(two_epochs(2, 3) == one);
  CHECK(two_epochs(8, 3) == one);
  CHECK(two_epochs(1, 4) != one);  // the comparison sees a difference
}
