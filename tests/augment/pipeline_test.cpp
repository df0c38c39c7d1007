// All random operations in one pipeline: the same bytes on any number of threads.
#include <headrace/augment/affine.h>
#include <headrace/augment/center_crop.h>
#include <headrace/augment/clahe.h>
#include <headrace/augment/color_jitter.h>
#include <headrace/augment/degrade.h>
#include <headrace/augment/flatten_sharpen.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/gaussian_blur.h>
#include <headrace/augment/normalize.h>
#include <headrace/augment/rand_augment.h>
#include <headrace/augment/random_erasing.h>
#include <headrace/augment/rotate.h>
#include <headrace/augment/rotate90.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/pixels.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

/// Record i is picture(36, 34, 3, i), its mask noise.
class MaskedPictures final : public Source {
 public:
  std::string name() const override { return "pictures"; }
  std::int64_t size() const override { return 61; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::uint8, Shape{34, 36, 3}),
            FieldSpec::fixed("mask", DType::uint8, Shape{34, 36})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const auto fill = [&](const char* name, const Pixels& pixels, const Shape& shape) {
      auto out = sample.make(name, DType::uint8, shape).values<std::uint8_t>();
      std::copy(pixels.begin(), pixels.end(), out.begin());
    };
    const auto seed = static_cast<unsigned>(index);
    fill("image", test::picture(36, 34, 3, seed), Shape{34, 36, 3});
    fill("mask", test::noise(36, 34, 1, seed), Shape{34, 36});
  }
};

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(int threads, std::uint64_t seed) {
  const std::vector<std::string> masks = {"mask"};
  Normalize normalize = Normalize::imagenet(DType::float16);
  normalize.flips = "mirrored";
  Loader loader =
      Pipeline::from(MaskedPictures{})
          .order(Shuffled{.seed = seed})
          .then(HorizontalFlip{.masks = masks})
          .then(VerticalFlip{.masks = masks})
          .then(Rotate{.degrees = 20, .interpolation = Interpolation::bilinear, .masks = masks})
          .then(Affine{.translate = {0.1, 0.1}, .scale = {0.8, 1.2}, .masks = masks})
          .then(RandAugment{.masks = masks})
          .then(CenterCrop{.height = 32, .width = 32, .masks = masks})
          .then(Rotate90{.masks = masks})
          .then(Affine{.degrees = {-15, 15}, .masks = masks, .p = 0.5}, {.name = "second affine"})
          .then(ColorJitter::by(0.3, 0.3, 0.3, 0.1))
          .then(GaussianBlur{.p = 0.5})
          .then(GaussianNoise{.p = 0.5})
          .then(MotionBlur{.p = 0.5})
          .then(Degrade{.p = 0.9})
          .then(Clahe{})
          .then(FlattenSharpen{.contrast = 1.0, .sharpness = 0.5})
          .then(RandomErasing{.noise = true})
          .then(HorizontalFlip{.mark = "mirrored"}, {.name = "second flip"})
          .batch({.size = 8})
          .then(normalize)
          .build({.runtime = Runtime({.threads = threads})});
  Bytes all;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* name : {"image", "mask", "mirrored"}) {
        const Tensor field = batch[name];
        const auto* first = static_cast<const std::uint8_t*>(field.raw());
        all.insert(all.end(), first, first + field.bytes());
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("all operations together give the same bytes on 1, 2 and 8 threads") {
  const Bytes one = bytes_of(1, 7);
  CHECK(one.size() == std::size_t{2 * 61} * (32 * 32 * 3 * 2 + 32 * 32 + 1));
  CHECK(bytes_of(2, 7) == one);
  CHECK(bytes_of(8, 7) == one);
}

TEST_CASE("and other bytes under another seed") {
  CHECK(bytes_of(2, 7) != bytes_of(2, 8));
}
