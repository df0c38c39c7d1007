// No operation takes memory for a sample once it is warm. Counts what the thread asks operator new
// for, so it replaces it for this test program.
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
#include <headrace/augment/volume/betti_targets.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/skeleton.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/soft_skeleton.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/tests/augment/pixels.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {
thread_local long taken = 0;

void* take(std::size_t bytes) {
  ++taken;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void* take(std::size_t bytes, std::align_val_t alignment) {
  ++taken;
  const auto whole = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(whole, (bytes + whole - 1) / whole * whole)) return memory;
  throw std::bad_alloc();
}
}  // namespace

// All forms: the tested code asks without exceptions, and a sanitizer sees who frees what.
void* operator new(std::size_t bytes) {
  return take(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, alignment);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return take(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(bytes, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

using namespace headrace;

namespace {

constexpr int height = 40;
constexpr int width = 48;

struct Step {
  const char* name;
  std::function<void(Sample&, Random&)> run;
  bool volume = false;  ///< works on a volume and its label
};

/// Everything is drawn; a larger kernel or zoom than before would take memory once more.
NnUNetIntensity eager() {
  NnUNetIntensity op{.blur = {.channel_p = 1, .deviation = {1, 1}},
                     .low_resolution = {.channel_p = 1, .zoom = {0.9, 0.9}}};
  for (double* p :
       {&op.noise.p, &op.blur.p, &op.contrast.p, &op.low_resolution.p, &op.gamma_inverted.p})
    *p = 1;
  return op;
}

std::vector<Step> steps() {
  const std::vector<std::string> masks = {"mask"};
  const HorizontalFlip flip{.p = 1, .masks = masks};
  const HorizontalFlip mark{.p = 1, .mark = "flip"};
  const VerticalFlip vertical{.p = 1, .masks = masks};
  const CenterCrop crop{.height = 20, .width = 20, .masks = masks};
  const Rotate rotate{.interpolation = Interpolation::bilinear, .masks = masks};
  const Rotate90 rotate90{.p = 1, .masks = masks};
  const Affine affine{.scale = {0.5, 2}, .masks = masks};
  const ColorJitter jitter = ColorJitter::by(0.4, 0.4, 0.4, 0.1);
  const RandAugment augment{.ops = 3, .masks = masks};
  const RandomErasing erasing{.p = 1, .noise = true};
  const GaussianBlur blur{};
  const GaussianNoise gaussian{};
  const MotionBlur motion{.length = {7, 7}};
  const Degrade degrade{.p = 1, .motion = motion};
  const Clahe clahe{};
  const FlattenSharpen flatten_sharpen{.block = 7};
  const Normalize normalize = Normalize::imagenet(DType::float16);
  const auto square = [crop](auto op) {
    return [op, crop](Sample& sample, Random& random) {
      crop(sample);
      op(sample, random);
    };
  };
  const auto plain = [](auto op) { return [op](Sample& sample, Random&) { op(sample); }; };
  return {{"flip", flip},
          {"marked flip", mark},
          {"vertical flip", vertical},
          {"centre crop", plain(crop)},
          {"rotate", rotate},
          {"rotate90", square(rotate90)},
          {"affine", affine},
          {"colour jitter", jitter},
          {"rand augment", augment},
          {"erase", erasing},
          {"blur", blur},
          {"noise", gaussian},
          {"motion blur", motion},
          {"degrade", degrade},
          {"clahe", plain(clahe)},
          {"flatten and sharpen", plain(flatten_sharpen)},
          {"normalize", plain(normalize)},
          {"nnunet intensity", eager(), true},
          {"slice jitter", SliceJitter{.p = 1, .masks = {"label"}}, true},
          {"volume cutout", VolumeCutout{.p = 1}, true},
          {"patch dropout", PatchDropout{.p = 1}, true},
          {"distance transform", plain(DistanceTransform{}), true},
          {"skeleton", plain(Skeleton{}), true},
          {"soft skeleton", plain(SoftSkeleton{}), true},
          {"betti targets", plain(BettiTargets{}), true},
          {"targets", plain(DeepSupervisionTargets{}), true}};
}

/// 8 slices of the picture's red, and of the mask.
void make_volume(Sample& sample, const test::Pixels& picture, const test::Pixels& labels) {
  auto image = sample.make("image", DType::float32, Shape{1, 8, height, width}).values<float>();
  auto label = sample.make("label", DType::uint8, Shape{8, height, width}).values<std::uint8_t>();
  for (std::size_t i = 0; i < label.size(); ++i) {
    image[i] = picture[i % labels.size() * 3];
    label[i] = static_cast<std::uint8_t>(labels[i % labels.size()] > 128);
  }
}

/// Allocations of one pass over a sample.
long taken_by(const Step& step, Sample& sample, std::int64_t position, const test::Pixels& picture,
              const test::Pixels& labels) {
  auto image = sample.make("image", DType::uint8, Shape{height, width, 3}).values<std::uint8_t>();
  std::copy(picture.begin(), picture.end(), image.begin());
  auto mask = sample.make("mask", DType::uint8, Shape{height, width}).values<std::uint8_t>();
  std::copy(labels.begin(), labels.end(), mask.begin());
  if (step.volume) make_volume(sample, picture, labels);
  Random random(RandomKey{.position = position});
  const long before = taken;
  step.run(sample, random);
  return taken - before;
}

}  // namespace

TEST_CASE("a warm operation takes no memory") {
  const test::Pixels picture = test::picture(width, height, 3);
  const test::Pixels labels = test::noise(width, height, 1);
  for (const Step& step : steps()) {
    CAPTURE(step.name);
    Sample sample;
    for (int i = 0; i < 4; ++i)
      taken_by(step, sample, i, picture, labels);
    long sum = 0;
    for (int i = 4; i < 40; ++i)
      sum += taken_by(step, sample, i, picture, labels);
    CHECK(sum == 0);
  }
}

TEST_CASE("and what takes memory is counted") {
  const Step taking{"takes", [](Sample&, Random&) {
                      std::vector<int> memory(100);
                      *const_cast<volatile int*>(memory.data()) = 1;
                    }};
  Sample sample;
  const test::Pixels picture = test::picture(width, height, 3);
  CHECK(taken_by(taking, sample, 0, picture, test::noise(width, height, 1)) == 1);
}
