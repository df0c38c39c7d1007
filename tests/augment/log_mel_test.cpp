#include <headrace/augment/spectrogram/log_mel.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/reference/audio_reference.inc>
#include <headrace/tests/augment/waves.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

Sample sample_of(const std::vector<float>& wave) {
  Sample sample;
  sample.set("waveform", Tensor::of(std::span<const float>(wave),
                                    Shape{static_cast<std::int64_t>(wave.size())}));
  return sample;
}

Tensor spectrogram_of(const LogMel& op, const std::vector<float>& wave) {
  Sample sample = sample_of(wave);
  op(sample);
  return sample["spectrogram"].clone();
}

/// Largest distance in decibels.
template <std::size_t kCount>
double distance(const Tensor& made, const float (&wanted)[kCount]) {
  const auto values = made.values<float>();
  REQUIRE(values.size() == kCount);
  double most = 0.0;
  for (std::size_t i = 0; i < kCount; ++i)
    most = std::max(most, std::abs(double{values[i]} - wanted[i]));
  return most;
}

float from_half(float16_t v) {
  const int exponent = v.bits >> 10 & 31;
  const float magnitude = exponent == 0 ? std::ldexp(float(v.bits & 1023), -24)
                                        : std::ldexp(float(1024 + (v.bits & 1023)), exponent - 25);
  return (v.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("log-mel gives torchaudio's decibels within a thousandth") {
  const LogMel op;
  const Tensor segment = spectrogram_of(op, test::wave(512));
  CHECK(segment.shape() == Shape{64, 5});
  CHECK(distance(segment, log_mel_512) < 1e-3);
  const Tensor odd = spectrogram_of(op, test::wave(1000));
  CHECK(odd.shape() == Shape{64, 8});
  CHECK(distance(odd, log_mel_1000) < 1e-3);
}

TEST_CASE("a short window, other edges and the power spectrum give torchaudio's too") {
  const LogMel op({.transform = 256,
                   .window = 200,
                   .hop = 100,
                   .bins = 20,
                   .lowest = 50.0,
                   .highest = 1800.0,
                   .power = 2});
  const Tensor made = spectrogram_of(op, test::wave(700));
  CHECK(made.shape() == Shape{20, 8});
  CHECK(distance(made, log_mel_power) < 1e-3);
}

TEST_CASE("the HTK filter bank of 64 bins has its known edges and sum") {
  const std::vector<MelFilter> filters = mel_filters({});
  REQUIRE(filters.size() == 64);
  double sum = 0.0;
  for (const MelFilter& filter : filters) {
    REQUIRE(!filter.weights.empty());
    for (const float weight : filter.weights)
      sum += double{weight};
  }
  CHECK(std::abs(sum - 251.452787) < 1e-4);
  // Triangle 0 rises from 0 to 14.883 Hz and falls to 30.083; frequencies are 8 Hz apart.
  CHECK(filters[0].first == 1);
  REQUIRE(filters[0].weights.size() == 3);
  CHECK(std::abs(double{filters[0].weights[0]} - 8.0 / 14.883) < 1e-4);
  CHECK(std::abs(double{filters[0].weights[2]} - (30.083 - 24.0) / (30.083 - 14.883)) < 1e-4);
}

TEST_CASE("sixteen-bit samples and half precision hold the same spectrogram") {
  std::vector<std::int16_t> whole;
  std::vector<float> wave;
  for (const float value : test::wave(512)) {
    whole.push_back(static_cast<std::int16_t>(value * 32000.0F));
    wave.push_back(static_cast<float>(whole.back()) / 32768.0F);
  }
  const Tensor wanted = spectrogram_of(LogMel(), wave);
  Sample sample;
  sample.set("waveform", Tensor::of(std::span<const std::int16_t>(whole), Shape{512}));
  LogMel({.dtype = DType::float16})(sample);
  CHECK_FALSE(sample.has("waveform"));
  const auto half = sample["spectrogram"].values<float16_t>();
  for (std::size_t i = 0; i < half.size(); ++i) {
    const float exact = wanted.values<float>()[i];
    REQUIRE(std::abs(from_half(half[i]) - exact) <= std::abs(exact) * 0x1p-11F);
  }
}

TEST_CASE("channels are transformed each for itself, and silence is the floor") {
  const std::vector<float> wave = test::wave(512);
  std::vector<float> two(512, 0.0F);
  two.insert(two.end(), wave.begin(), wave.end());
  Sample sample;
  sample.set("waveform", Tensor::of(std::span<const float>(two), Shape{2, 512}));
  LogMel()(sample);
  const Tensor& made = sample["spectrogram"];
  CHECK(made.shape() == Shape{2, 64, 5});
  for (const float value : made.row(0).values<float>())
    REQUIRE(value == -200.0F);
  CHECK(distance(made.row(1), log_mel_512) < 1e-3);
}

TEST_CASE("log-mel refuses what cannot be right before anything runs") {
  CHECK_THROWS_AS(LogMel({.transform = 511}), ConfigError);
  CHECK_THROWS_AS(LogMel({.hop = 0}), ConfigError);
  CHECK_THROWS_AS(LogMel({.highest = 4000.0}), ConfigError);
  CHECK_THROWS_AS(LogMel({.power = 3}), ConfigError);
  CHECK_THROWS_AS(LogMel({.dtype = DType::int16}), ConfigError);
  CHECK_THROWS_WITH_AS(LogMel({.transform = 128}), doctest::Contains("bin"), ConfigError);
  const LogMel op;
  CHECK_THROWS_AS(op.schema({FieldSpec::fixed("waveform", DType::float64, Shape{512})}),
                  ConfigError);
  CHECK_THROWS_AS(op.schema({FieldSpec::fixed("waveform", DType::float32, Shape{256})}),
                  ConfigError);
  const Schema padded = op.schema({FieldSpec::padded("waveform", DType::float32, Shape{40960})});
  CHECK(padded.at("spectrogram") ==
        FieldSpec::padded("spectrogram", DType::float32, Shape{64, 321}, -200.0));
  Sample sample = sample_of(std::vector<float>(256, 0.0F));
  CHECK_THROWS_AS(op(sample), DataError);
}
