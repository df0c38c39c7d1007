#include <bit>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include <headrace/augment/normalize.h>
#include <headrace/engine/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/pixels.h>

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
class Pictures final : public Source {
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
  auto on_samples = Pipeline::from(Pictures{}).then(op).batch({.size = 4}).build();
  auto on_batches = Pipeline::from(Pictures{}).batch({.size = 4}).then(op).build();
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
