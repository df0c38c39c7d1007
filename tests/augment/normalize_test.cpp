#include <headrace/augment/detail/normalize_task.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/normalize.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/pixels.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Pixels;

namespace {

float from_bfloat16(bfloat16_t v) {
  return std::bit_cast<float>(std::uint32_t{v.bits} << 16);
}

float from_float16(float16_t v) {
  const int exponent = v.bits >> 10 & 31;
  const float magnitude = exponent == 0 ? std::ldexp(float(v.bits & 1023), -24)
                                        : std::ldexp(float(1024 + (v.bits & 1023)), exponent - 25);
  return (v.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Pictures of known content: record i is picture(5, 4, 3, i).
class SmallPictures final : public Source {
 public:
  std::string name() const override { return "pictures"; }
  std::int64_t size() const override { return 10; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::uint8, Shape{4, 5, 3})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const Pixels pixels = test::picture(5, 4, 3, static_cast<unsigned>(index));
    auto out = sample.make("image", DType::uint8, Shape{4, 5, 3}).values<std::uint8_t>();
    std::copy(pixels.begin(), pixels.end(), out.begin());
  }
};

}  // namespace

TEST_CASE("normalise gives torchvision's values, channels first") {
  const Pixels pixels = test::picture(9, 7, 3);
  Sample sample = test::sample_of(pixels, 7, 9, 3);
  const Normalize op = Normalize::imagenet();
  op(sample);
  const Tensor& image = sample["image"];
  CHECK(image.shape() == Shape{3, 7, 9});
  const auto values = image.values<float>();
  // normalize(to_dtype(p, float32, scale=True), ...) of torchvision 0.26.0, the first two pixels of
  // each channel.
  const float wanted[3][2] = {{-0.8164226413F, -0.7650483847F},
                              {-0.7051820159F, -0.6001399755F},
                              {-0.4275380373F, -0.1486709416F}};
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(std::abs(values[63 * c + i] - wanted[c][i]) < 1e-5F);
  }
  for (std::size_t i = 0; i < 63; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const double exact = (pixels[3 * i + c] / 255.0 - op.mean[c]) / op.std[c];
      REQUIRE(std::abs(values[63 * c + i] - exact) < 1e-5);
    }
  }
}

TEST_CASE("channels last and sixteen bits hold the same values") {
  const Pixels pixels = test::picture(9, 7, 3);
  Sample first = test::sample_of(pixels, 7, 9, 3);
  Normalize::imagenet()(first);
  const auto values = first["image"].values<float>();
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    Sample last = test::sample_of(pixels, 7, 9, 3);
    Normalize::imagenet(dtype, Normalize::Layout::channels_last)(last);
    const Tensor& image = last["image"];
    CHECK(image.shape() == Shape{7, 9, 3});
    for (std::size_t i = 0; i < 63 * 3; ++i) {
      const float wanted = values[i % 3 * 63 + i / 3];
      float got = 0;
      float unit = 0;
      if (dtype == DType::float32) {
        got = image.values<float>()[i];
      } else if (dtype == DType::bfloat16) {
        got = from_bfloat16(image.values<bfloat16_t>()[i]);
        unit = std::ldexp(1.0F, -9);
      } else {
        got = from_float16(image.values<float16_t>()[i]);
        unit = std::ldexp(1.0F, -12);
      }
      REQUIRE(std::abs(got - wanted) <= unit * std::max(std::abs(wanted) * 2, 1e-4F));
    }
  }
}

TEST_CASE("grey pictures and one mean for all channels work") {
  Sample sample = test::sample_of({0, 255, 51, 102}, 2, 2, 1);
  Normalize{.mean = {0.5F}, .std = {0.5F}}(sample);
  const auto values = sample["image"].values<float>();
  CHECK(values[0] == doctest::Approx(-1));
  CHECK(values[1] == doctest::Approx(1));
  CHECK(values[2] == doctest::Approx(-0.6));
  Sample six = test::sample_of(test::picture(3, 2, 6), 2, 3, 6);
  Normalize{}(six);
  CHECK(six["image"].shape() == Shape{6, 2, 3});
}

TEST_CASE("normalise refuses what cannot be right before anything runs") {
  const Schema in = test::picture_schema(8, 9, 3);
  CHECK(Normalize::imagenet().schema(in).at("image") ==
        FieldSpec::fixed("image", DType::float32, Shape{3, 8, 9}));
  CHECK_THROWS_AS((Normalize{.mean = {0, 0}, .std = {1, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Normalize{.mean = {0, 0, 0}, .std = {1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Normalize{.mean = {0}, .std = {0}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Normalize{.dtype = DType::int32}.schema(in)), ConfigError);
  CHECK_THROWS_AS((Normalize{.field = "label"}.schema(in)), ConfigError);
}

TEST_CASE("a batch is normalised to the bits that its samples would have") {
  const Normalize op = Normalize::imagenet();
  auto on_samples = Pipeline::from(SmallPictures{}).then(op).batch({.size = 4}).build();
  auto on_batches = Pipeline::from(SmallPictures{}).batch({.size = 4}).then(op).build();
  auto samples = on_samples.epoch(0);
  auto batches = on_batches.epoch(0);
  auto a = samples.begin();
  auto b = batches.begin();
  int count = 0;
  for (; a != samples.end() && b != batches.end(); ++a, ++b, ++count) {
    const Tensor one = (*a)["image"];
    const Tensor other = (*b)["image"];
    REQUIRE(one.shape() == other.shape());
    const auto left = one.values<float>();
    const auto right = other.values<float>();
    REQUIRE(std::equal(left.begin(), left.end(), right.begin()));
  }
  CHECK(count == 3);
}

TEST_CASE("every vector width, layout and size gives the bits of the scalar formula") {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    for (const auto [width, height, channels] : {std::array{1, 1, 3},
                                                 {5, 3, 1},
                                                 {33, 2, 3},
                                                 {16, 9, 4},
                                                 {7, 5, 6},
                                                 {224, 3, 3},
                                                 {3, 3, 16}}) {
      for (const bool first : {true, false}) {
        const int pictures = 3;
        const Pixels from = test::noise(width, height * pictures, channels, 9);
        const std::uint8_t flips[pictures] = {0, 1, 7};
        const float levels[2 * pictures] = {1, 0, 0.7F, 12.5F, 1.9F, -3};
        detail::NormalizeTask task{.from = from.data(),
                                   .dtype = dtype,
                                   .channels_first = first,
                                   .pictures = pictures,
                                   .pixels = width * height,
                                   .width = width,
                                   .channels = channels,
                                   .flips = flips,
                                   .levels = levels};
        for (int c = 0; c < channels; ++c) {
          task.factor[c] = 0.0171F + 0.001F * float(c);
          task.offset[c] = -2.1F + 0.3F * float(c);
        }
        const std::size_t value = size_of(dtype);
        std::vector<std::uint8_t> got(from.size() * value);
        std::vector<float> wanted(from.size());
        for (int p = 0; p < pictures; ++p) {
          for (int i = 0; i < width * height; ++i) {
            const int x = flips[p] != 0 ? width - 1 - i % width : i % width;
            const int source = i / width * width + x;
            for (int c = 0; c < channels; ++c) {
              const volatile float shift = task.factor[c] * levels[2 * p + 1];
              const volatile float factor = task.factor[c] * levels[2 * p];
              const volatile float product =
                  float(from[std::size_t((p * width * height + source) * channels + c)]) * factor;
              const volatile float offset = task.offset[c] + shift;
              const int to = first ? (p * channels + c) * width * height + i
                                   : (p * width * height + i) * channels + c;
              wanted[std::size_t(to)] = product + offset;
            }
          }
        }
        for (int target = 0;; ++target) {
          std::fill(got.begin(), got.end(), std::uint8_t{0});
          task.to = got.data();
          if (!detail::normalize_on_host(task, target)) break;
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (dtype == DType::float32) {
              REQUIRE(std::memcmp(&wanted[i], &got[4 * i], 4) == 0);
              continue;
            }
            std::uint16_t bits = 0;
            std::memcpy(&bits, &got[2 * i], 2);
            const float back =
                dtype == DType::bfloat16 ? from_bfloat16({bits}) : from_float16({bits});
            const float unit = std::ldexp(1.0F, std::ilogb(wanted[i] == 0 ? 1 : wanted[i]));
            REQUIRE(std::abs(back - wanted[i]) <=
                    std::max(unit, std::ldexp(1.0F, -14)) *
                        (dtype == DType::bfloat16 ? 0x1p-8F : 0x1p-11F));
          }
        }
      }
    }
  }
}

TEST_CASE("sixteen bits are rounded to the nearest, ties to even, on every vector width") {
  // One level of 1 and a factor that is the value itself: what comes out is the rounding alone.
  const std::uint8_t level = 1;
  const auto rounded = [&](float value, DType dtype, int target) {
    detail::NormalizeTask task{
        .from = &level, .dtype = dtype, .pictures = 1, .pixels = 1, .width = 1, .channels = 1};
    task.factor[0] = value;
    std::uint16_t bits = 0xdead;
    task.to = &bits;
    return detail::normalize_on_host(task, target) ? int(bits) : -1;
  };
  for (int target = 0; rounded(1, DType::float16, target) >= 0; ++target) {
    const auto half = [&](float v) { return rounded(v, DType::float16, target); };
    const auto brain = [&](float v) { return rounded(v, DType::bfloat16, target); };
    CHECK(half(1.0F) == 0x3c00);
    CHECK(half(-2.0F) == 0xc000);
    CHECK(half(65504.0F) == 0x7bff);
    CHECK(half(65519.0F) == 0x7bff);
    CHECK(half(65520.0F) == 0x7c00);
    CHECK(half(-1e9F) == 0xfc00);
    CHECK(half(0x1p-24F) == 0x0001);
    CHECK(half(0x1p-25F) == 0x0000);
    CHECK(half(0x1.8p-24F) == 0x0002);
    CHECK(half(-0x1.ff8p-15F) == 0x83ff);
    CHECK(half(0x1.ffep-15F) == 0x0400);
    CHECK(half(1.0F + 0x1p-11F) == 0x3c00);
    CHECK(half(1.0F + 0x1.8p-10F) == 0x3c02);
    CHECK(brain(1.0F) == 0x3f80);
    CHECK(brain(1.0F + 0x1p-8F) == 0x3f80);
    CHECK(brain(1.0F + 0x1.8p-7F) == 0x3f82);
    CHECK(brain(-3.14159274F) == 0xc049);
  }
}

TEST_CASE("a marked flip in the batch gives the bits of a flip before it") {
  const Normalize plain = Normalize::imagenet(DType::bfloat16);
  Normalize marked = plain;
  marked.flips = "flip";
  auto early =
      Pipeline::from(SmallPictures{}).then(HorizontalFlip{}).batch({.size = 5}).then(plain).build();
  auto late = Pipeline::from(SmallPictures{})
                  .then(HorizontalFlip{.mark = "flip"})
                  .batch({.size = 5})
                  .then(marked)
                  .build();
  auto sample_wise = Pipeline::from(SmallPictures{})
                         .then(HorizontalFlip{.mark = "flip"})
                         .then(marked)
                         .batch({.size = 5})
                         .build();
  auto a = early.epoch(0);
  auto b = late.epoch(0);
  auto c = sample_wise.epoch(0);
  auto i = a.begin();
  auto j = b.begin();
  auto k = c.begin();
  int flipped = 0;
  for (; i != a.end(); ++i, ++j, ++k) {
    const Tensor wanted = (*i)["image"];
    for (const Tensor& got : {(*j)["image"], (*k)["image"]}) {
      REQUIRE(got.shape() == wanted.shape());
      CHECK(std::memcmp(wanted.raw(), got.raw(), wanted.bytes()) == 0);
    }
    for (const std::uint8_t flip : (*j)["flip"].values<std::uint8_t>())
      flipped += flip;
  }
  CHECK(flipped > 0);
  CHECK(flipped < 10);
}

TEST_CASE("parameter fields of another kind are refused before anything runs") {
  Schema in = test::picture_schema(8, 9, 3);
  CHECK_THROWS_AS((Normalize{.flips = "flip"}.schema(in)), ConfigError);
  in.put(FieldSpec::fixed("flip", DType::int64, Shape{}));
  CHECK_THROWS_AS((Normalize{.flips = "flip"}.schema(in)), ConfigError);
  in.put(FieldSpec::fixed("flip", DType::uint8, Shape{}));
  CHECK(Normalize{.flips = "flip"}.schema(in).at("image").shape == Shape{3, 8, 9});
  in.put(FieldSpec::fixed("gain", DType::float32, Shape{3}));
  CHECK_THROWS_AS((Normalize{.levels = "gain"}.schema(in)), ConfigError);
}
