#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Floats;
using headrace::test::most_apart;
using headrace::test::StoredValues;

namespace {

const Shape stored_shape{1, 9, 11, 13};

/// What the parameters make of the stored image's one channel.
template <class Parameters>
Floats applied(Parameters drawn) {
  drawn.channels = 1;
  Sample sample = test::sample_with("image", StoredValues::get().floats("image"), stored_shape);
  detail::apply_to_field(drawn, "image", sample);
  return test::values_of<float>(sample, "image");
}

const Floats& expected(const std::string& name) {
  return StoredValues::get().floats(name);
}

Floats raised(float exponent, bool invert, bool retain) {
  return applied(VolumeGammaParameters{.exponent = {exponent}, .invert = invert, .retain = retain});
}

}  // namespace

TEST_CASE("blurs are batchgeneratorsv2's, the reflected border included") {
  const auto by = [](float z, float y, float x) {
    VolumeBlurParameters drawn;
    drawn.deviations[0] = {z, y, x};
    return applied(drawn);
  };
  CHECK(most_apart(by(0.5F, 0.75F, 1.0F), expected("blur 0.5 0.75 1.0")) < 1e-6);
  CHECK(most_apart(by(1.0F, 0.51F, 0.9F), expected("blur 1.0 0.51 0.9")) < 1e-6);
  CHECK(most_apart(by(1.5F, 1.2F, 2.0F), expected("blur 1.5 1.2 2.0")) < 1e-6);
}

TEST_CASE("brightness and contrast are batchgeneratorsv2's") {
  CHECK(most_apart(applied(VolumeBrightnessParameters{.factor = {1.2F}}),
                   expected("brightness 1.2")) < 1e-7);
  const auto by = [](float factor, bool keep) {
    return applied(VolumeContrastParameters{.factor = {factor}, .preserve_range = keep});
  };
  CHECK(most_apart(by(0.8F, true), expected("contrast 0.8 1")) < 1e-6);
  CHECK(most_apart(by(0.8F, false), expected("contrast 0.8 0")) < 1e-6);
  CHECK(most_apart(by(1.25F, true), expected("contrast 1.25 1")) < 1e-6);
  CHECK(most_apart(by(1.25F, false), expected("contrast 1.25 0")) < 1e-6);
}

TEST_CASE("low resolutions are batchgeneratorsv2's") {
  const auto by = [](float zoom) {
    VolumeLowResolutionParameters drawn;
    drawn.zoom[0] = {zoom, zoom, zoom};
    return applied(drawn);
  };
  CHECK(most_apart(by(0.5F), expected("zoom 0.5")) < 1e-6);
  CHECK(most_apart(by(0.63F), expected("zoom 0.63")) < 1e-6);
  CHECK(most_apart(by(0.77F), expected("zoom 0.77")) < 1e-6);
  CHECK(by(1.0F) == expected("zoom 1.0"));
  CHECK(by(1.0F) == expected("image"));
}

TEST_CASE("gammas are batchgeneratorsv2's") {
  for (const bool invert : {false, true}) {
    for (const bool retain : {false, true}) {
      const std::string rest =
          std::string(invert ? " 1" : " 0") + std::string(retain ? " 1" : " 0");
      CHECK(most_apart(raised(0.7F, invert, retain), expected("gamma 0.7" + rest)) < 5e-6);
      CHECK(most_apart(raised(1.4F, invert, retain), expected("gamma 1.4" + rest)) < 5e-6);
    }
  }
}

TEST_CASE("a gamma of 1 that retains nothing and constant channels stay as they are") {
  CHECK(most_apart(raised(1.0F, false, false), expected("image")) < 1e-6);
  Sample flat = test::sample_with("image", Floats(24, 3.5F), Shape{1, 2, 3, 4});
  detail::apply_to_field(VolumeGammaParameters{.channels = 1, .exponent = {0.7F}}, "image", flat);
  CHECK(test::values_of<float>(flat, "image") == Floats(24, 3.5F));
}

TEST_CASE("powers are within 1e-6 of themselves, over all magnitudes") {
  Floats values = {0.0F, 1.0F, 0x1p-126F};
  for (float t = 0x1p-125F; t < 1; t *= 1.00037F)
    values.push_back(t);
  for (const float exponent : {0.7F, 0.65F, 1.0F, 1.4999F, 1.6F, 0.01F}) {
    Floats powers = values;
    const detail::VoxelStep step{.kind = detail::VoxelStep::Kind::power, .exponent = exponent};
    detail::pass_voxels(powers, {&step, 1}, nullptr);
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = std::pow(static_cast<double>(values[i]), static_cast<double>(exponent));
      if (exact < 0x1p-126) {
        CHECK(powers[i] <= 0x1p-126F);
      } else {
        most = std::max(most, std::abs(static_cast<double>(powers[i]) - exact) / exact);
      }
    }
    CHECK(most < 1e-6);
    CHECK(powers[0] == 0);
    CHECK(powers[1] == 1);
  }
}

TEST_CASE("statistics are those of the definitions") {
  Floats values = test::noise_floats(5000);
  detail::VoxelStatistics found;
  detail::pass_voxels(values, {}, &found);
  double sum = 0;
  double square = 0;
  for (float v : values)
    sum += static_cast<double>(v) / 5000;
  for (float v : values)
    square += (static_cast<double>(v) - sum) * (static_cast<double>(v) - sum) / 4999;
  CHECK(found.mean == doctest::Approx(sum).epsilon(1e-6));
  CHECK(found.deviation == doctest::Approx(std::sqrt(square)).epsilon(1e-6));
  CHECK(found.least == *std::ranges::min_element(values));
  CHECK(found.most == *std::ranges::max_element(values));
}

TEST_CASE("noise is normal: its moments, its tails and its independence of neighbours") {
  constexpr std::int64_t count = 1 << 20;
  Floats values(count, 0.0F);
  const detail::VoxelStep step{.kind = detail::VoxelStep::Kind::noise,
                               .key = {0x12345678U, 0x9abcdef0U}};
  detail::pass_voxels(values, {&step, 1}, nullptr);
  double moments[5] = {};
  double beside = 0;
  double quarter = 0;
  std::int64_t beyond2 = 0;
  std::int64_t beyond4 = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = values[static_cast<std::size_t>(i)];
    for (int k = 1; k <= 4; ++k)
      moments[k] += std::pow(v, k) / count;
    beside += v * static_cast<double>(values[static_cast<std::size_t>((i + 1) % count)]) / count;
    quarter += v * static_cast<double>(values[static_cast<std::size_t>((i + 256) % count)]) / count;
    beyond2 += static_cast<std::int64_t>(std::abs(v) > 2);
    beyond4 += static_cast<std::int64_t>(std::abs(v) > 4);
  }
  CHECK(std::abs(moments[1]) < 0.004);  // four deviations of each
  CHECK(std::abs(moments[2] - 1) < 0.0056);
  CHECK(std::abs(moments[3]) < 0.0152);
  CHECK(std::abs(moments[4] - 3) < 0.0383);
  CHECK(std::abs(beside) < 0.004);
  CHECK(std::abs(quarter) < 0.004);
  CHECK(std::abs(static_cast<double>(beyond2) / count - 0.0455) < 0.0009);
  CHECK(std::abs(static_cast<double>(beyond4) - 66.4) < 33);
}

TEST_CASE("noise is the Box-Muller of Philox's words of its place") {
  const std::array<std::uint32_t, 2> key = {77, 5};
  for (const std::int64_t i : {0, 1, 255, 256, 600, 1023, 1024, 70000}) {
    const auto words =
        philox4x32_10({static_cast<std::uint32_t>(i / 1024 * 256 + i % 256), 3, 0, 0}, key);
    const std::size_t pair = static_cast<std::size_t>(i / 512 % 2) * 2;
    const double radius =
        std::sqrt(-2 * std::log((static_cast<double>(words[pair] >> 8) + 0.5) * 0x1p-24));
    // A quarter turn begins 45 degrees before its middle.
    const double angle =
        (static_cast<double>(words[pair + 1]) * 0x1p-32 - 0.125) * 2 * std::numbers::pi;
    const double exact = radius * (i / 256 % 2 == 0 ? std::cos(angle) : std::sin(angle));
    CHECK(std::abs(detail::voxel_normal(key, 3, i) - exact) < 2e-6);
  }
}

TEST_CASE("operations on voxels refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("image", DType::float32, Shape{2, 4, 5, 6}),
                  FieldSpec::fixed("bytes", DType::uint8, Shape{2, 4, 5, 6})};
  CHECK(NnUNetIntensity{}.schema(in) == in);
  CHECK(NnUNetIntensity{}.working_bytes(in) > 0);
  CHECK_THROWS_AS(VolumeNoise{.p = 2}.schema(in), ConfigError);
  CHECK_THROWS_AS((VolumeNoise{.deviation = {0.2, 0.1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((VolumeBlur{.deviation = {0, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((VolumeBrightness{.factor = {-1, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((VolumeContrast{.channel_p = -0.1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((VolumeLowResolution{.zoom = {0.5, 1.5}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((VolumeGamma{.exponent = {0, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((VolumeGamma{.field = "bytes"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((NnUNetIntensity{.field = "other"}.schema(in)), ConfigError);
  Sample bytes = test::sample_with("image", test::Bytes(8, 1), Shape{1, 2, 2, 2});
  Random random(RandomKey{});
  CHECK_THROWS_AS(NnUNetIntensity{}(bytes, random), DataError);
}
