#include <headrace/augment/spectrogram/frame_window.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

template <class T>
std::vector<T> windowed(const FrameWindow& op, const std::vector<T>& values, const Shape& shape,
                        std::int64_t position = 0) {
  Sample sample;
  sample.set("spectrogram", Tensor::of(std::span<const T>(values), shape));
  Random draws({.seed = 3, .position = position});
  op(sample, draws);
  const auto out = sample["spectrogram"].values<T>();
  return {out.begin(), out.end()};
}

}  // namespace

TEST_CASE("a window of frames is the middle, or lies anywhere and everywhere") {
  const std::vector<float> values{0, 1, 2, 3, 4, 10, 11, 12, 13, 14};
  FrameWindow op{.frames = 3, .random = false};
  CHECK(windowed(op, values, {2, 5}) == std::vector<float>{1, 2, 3, 11, 12, 13});
  op.random = true;
  std::set<float> first;
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::vector<float> out = windowed(op, values, {1, 2, 5}, i);
    CHECK(out[2] == out[0] + 2);
    CHECK(out[3] == out[0] + 10);
    first.insert(out[0]);
  }
  CHECK(first == std::set<float>{0, 1, 2});
}

TEST_CASE("shorter spectrograms are padded behind, with what their type can hold") {
  const FrameWindow op{.frames = 3, .fill = -40.4};
  CHECK(windowed<float>(op, {1, 2}, {2, 1}) ==
        std::vector<float>{1, -40.4F, -40.4F, 2, -40.4F, -40.4F});
  CHECK(windowed<std::int16_t>(op, {7, 8}, {1, 2}) == std::vector<std::int16_t>{7, 8, -40});
  CHECK(windowed<std::uint8_t>(op, {7, 8}, {1, 2}) == std::vector<std::uint8_t>{7, 8, 0});
  CHECK(to_float(windowed<float16_t>(op, {{}, {}}, {1, 2})[2]) ==
        doctest::Approx(-40.4).epsilon(1e-3));
}

TEST_CASE("windows are of spectrograms and say so") {
  const Schema vectors{FieldSpec::fixed("spectrogram", DType::float32, {8})};
  CHECK_THROWS_AS((FrameWindow{.frames = 3}.schema(vectors)), ConfigError);
  const Schema in{FieldSpec::padded("spectrogram", DType::int16, {4, 8})};
  CHECK_THROWS_AS(FrameWindow{}.schema(in), ConfigError);
  CHECK((FrameWindow{.frames = 3}.schema(in)).at("spectrogram") ==
        FieldSpec::fixed("spectrogram", DType::int16, {4, 3}));
}
