#include <headrace/augment/spectrogram/spec_augment.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/reference/audio_reference.inc>
#include <headrace/tests/augment/waves.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

/// Values above 1, so that no cell looks filled.
std::vector<float> loud(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values;
  for (const double value : test::noise(static_cast<std::size_t>(count), seed))
    values.push_back(static_cast<float>(value + 3.0));
  return values;
}

Sample sample_of(const std::vector<float>& values, const Shape& shape) {
  Sample sample;
  sample.set("spectrogram", Tensor::of(std::span<const float>(values), shape));
  return sample;
}

Random random_of(std::int64_t position) {
  return Random({.seed = 5, .position = position});
}

std::vector<float> augmented(const SpecAugment& op, const std::vector<float>& values,
                             const Shape& shape, std::int64_t position) {
  Sample sample = sample_of(values, shape);
  Random random = random_of(position);
  op(sample, random);
  const auto out = sample["spectrogram"].values<float>();
  return {out.begin(), out.end()};
}

/// The masks that DrawSpecAugment gives for a sample of that shape.
std::vector<std::int32_t> drawn(const SpecAugment& op, const Shape& shape, std::int64_t position) {
  Sample sample = sample_of(std::vector<float>(static_cast<std::size_t>(shape.elements())), shape);
  Random random = random_of(position);
  DrawSpecAugment{op}(sample, random);
  const auto values = sample["spectrogram_masks"].values<std::int32_t>();
  return {values.begin(), values.end()};
}

/// The rule in plain loops, over what was drawn for the whole sample.
std::vector<float> masked_plainly(const SpecAugment& op, std::vector<float> values,
                                  std::int64_t bins, std::int64_t frames,
                                  const std::vector<std::int32_t>& masks) {
  const auto inside = [&](std::size_t first, int count, std::int64_t cell) {
    for (int i = 0; i < count; ++i, first += 2) {
      if (cell >= masks[first] && cell < masks[first] + masks[first + 1]) return true;
    }
    return false;
  };
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    for (std::int64_t frame = 0; frame < std::min<std::int64_t>(frames, masks[0]); ++frame) {
      const std::size_t of_time = 3 + 2 * static_cast<std::size_t>(op.frequency_masks);
      if (!inside(3, op.frequency_masks, bin) && !inside(of_time, op.time_masks, frame)) continue;
      const bool first = op.layout == SpecAugment::Layout::frequency_first;
      const std::int64_t cell = first ? bin * frames + frame : frame * bins + bin;
      values[static_cast<std::size_t>(cell)] =
          op.fill[op.fill.size() == 1 ? 0 : static_cast<std::size_t>(bin)];
    }
  }
  return values;
}

}  // namespace

TEST_CASE("masked cells take the fill and all others keep their bits") {
  SpecAugment op = SpecAugment::policy("SS");
  op.time_warp = 0;
  op.time_share = 1.0;
  for (const auto layout :
       {SpecAugment::Layout::frequency_first, SpecAugment::Layout::time_first}) {
    for (const bool per_bin : {false, true}) {
      op.layout = layout;
      op.fill = per_bin ? loud(80, 4) : std::vector<float>{-1.5F};
      const bool first = layout == SpecAugment::Layout::frequency_first;
      for (const std::int64_t frames : {1LL, 5LL, 127LL, 128LL, 129LL, 700LL}) {
        const Shape shape = first ? Shape{80, frames} : Shape{frames, 80};
        const std::vector<float> values = loud(80 * frames, 9);
        for (std::int64_t position = 0; position < 20; ++position) {
          REQUIRE(augmented(op, values, shape, position) ==
                  masked_plainly(op, values, 80, frames, drawn(op, shape, position)));
        }
      }
    }
  }
}

TEST_CASE("the warp is a stretch of both sides, as torch's linear interpolation gives it") {
  std::vector<float> values;
  for (const double value : test::noise(2 * 23, 3))
    values.push_back(static_cast<float>(value));
  const struct {
    std::int64_t point;
    std::int64_t moved;
    const float* wanted;
  } cases[] = {
      {8, 5, warped_8_5}, {8, 12, warped_8_12}, {15, 22, warped_15_22}, {9, 9, warped_9_9}};
  const SpecAugment op{.time_warp = 7};
  int met = 0;
  for (const auto& wanted : cases) {
    for (std::int64_t position = 0; position < 2000; ++position) {
      const std::vector<std::int32_t> masks = drawn(op, Shape{2, 23}, position);
      if (masks[1] != wanted.point || masks[2] != wanted.moved) continue;
      const std::vector<float> made = augmented(op, values, Shape{2, 23}, position);
      for (std::size_t i = 0; i < made.size(); ++i)
        REQUIRE(std::abs(made[i] - wanted.wanted[i]) < 2e-6F);
      ++met;
      break;
    }
  }
  CHECK(met == 4);
}

TEST_CASE("a warp with frames before bins is the same warp") {
  const SpecAugment op{.time_warp = 7};
  SpecAugment turned = op;
  turned.layout = SpecAugment::Layout::time_first;
  const std::vector<float> values = loud(4 * 40, 2);
  std::vector<float> transposed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    transposed[i % 40 * 4 + i / 40] = values[i];
  const std::vector<float> made = augmented(op, values, Shape{4, 40}, 3);
  const std::vector<float> other = augmented(turned, transposed, Shape{40, 4}, 3);
  CHECK(made != values);
  for (std::size_t i = 0; i < values.size(); ++i)
    REQUIRE(made[i] == other[i % 40 * 4 + i / 40]);
}

TEST_CASE("frames behind the length are neither warped nor masked") {
  SpecAugment op = SpecAugment::policy("LD");
  op.time_warp = 5;
  op.length = "frames";
  for (const auto layout :
       {SpecAugment::Layout::frequency_first, SpecAugment::Layout::time_first}) {
    op.layout = layout;
    const bool first = layout == SpecAugment::Layout::frequency_first;
    const Shape shape = first ? Shape{30, 50} : Shape{50, 30};
    const std::vector<float> values = loud(30 * 50, 8);
    bool touched = false;
    for (std::int64_t position = 0; position < 50; ++position) {
      Sample sample = sample_of(values, shape);
      sample.set_scalar<std::int64_t>("frames", 20);
      Random random = random_of(position);
      op(sample, random);
      const auto made = sample["spectrogram"].values<float>();
      for (std::int64_t cell = 0; cell < 30 * 50; ++cell) {
        const auto at = static_cast<std::size_t>(cell);
        if ((first ? cell % 50 : cell / 30) >= 20) REQUIRE(made[at] == values[at]);
        touched = touched || made[at] != values[at];
      }
    }
    CHECK(touched);
  }
  Sample sample = sample_of(loud(30 * 50, 8), Shape{50, 30});
  sample.set_scalar<std::int64_t>("frames", 51);
  Random random = random_of(0);
  CHECK_THROWS_WITH_AS(op(sample, random), doctest::Contains("51"), DataError);
}

TEST_CASE("sixteen-bit spectrograms are masked to the same cells") {
  SpecAugment op = SpecAugment::policy("SM");
  op.time_warp = 0;
  const Shape shape{64, 40};
  std::vector<std::uint16_t> bits;
  for (const double value : test::noise(64 * 40, 5))
    bits.push_back(static_cast<std::uint16_t>(0x3c00 + static_cast<int>(value * 500.0)));
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (std::int64_t position = 0; position < 20; ++position) {
      Sample sample;
      sample.set("spectrogram", Tensor::borrow(bits.data(), dtype, shape));
      Random random = random_of(position);
      op(sample, random);
      const auto* made = static_cast<const std::uint16_t*>(sample["spectrogram"].raw());
      const std::vector<float> plain =
          masked_plainly(op, std::vector<float>(64 * 40, 1.0F), 64, 40, drawn(op, shape, position));
      for (std::size_t i = 0; i < bits.size(); ++i)
        REQUIRE(made[i] == (plain[i] == 1.0F ? bits[i] : 0));
    }
  }
}

TEST_CASE("a warp in half precision is the warp in single precision, rounded") {
  const SpecAugment op{.time_warp = 9};
  std::vector<std::uint16_t> bits;
  std::vector<float> values;
  for (const double value : test::noise(3 * 60, 5)) {
    bits.push_back(static_cast<std::uint16_t>(0x3c00 + static_cast<int>(value * 1000.0)));
    const unsigned mantissa = bits.back() & 1023U;
    values.push_back(std::ldexp(float(1024 + mantissa), (bits.back() >> 10) - 25));
  }
  const std::vector<float> wanted = augmented(op, values, Shape{3, 60}, 1);
  Sample sample;
  sample.set("spectrogram", Tensor::borrow(bits.data(), DType::float16, Shape{3, 60}));
  Random random = random_of(1);
  op(sample, random);
  const auto* made = static_cast<const std::uint16_t*>(sample["spectrogram"].raw());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const float got = std::ldexp(float(1024 + (made[i] & 1023)), (made[i] >> 10) - 25);
    REQUIRE(std::abs(got - wanted[i]) <= wanted[i] * 0x1p-11F);
  }
  CHECK(!std::equal(bits.begin(), bits.end(), made));
}

TEST_CASE("a batch that is drawn before and applied after holds the samples' bits") {
  class Spectrograms final : public Source {
   public:
    std::string name() const override { return "spectrograms"; }
    std::int64_t size() const override { return 25; }
    Schema fields() const override {
      return {FieldSpec::fixed("spectrogram", DType::float32, Shape{2, 20, 90})};
    }
    void read(std::int64_t index, Sample& sample) const override {
      const auto values = loud(2 * 20 * 90, static_cast<std::uint32_t>(index));
      auto out = sample.make("spectrogram", DType::float32, Shape{2, 20, 90}).values<float>();
      std::copy(values.begin(), values.end(), out.begin());
    }
  };
  for (const std::int64_t warp : {0LL, 10LL}) {
    for (const auto rule : {SpecAugment::Rule::paper, SpecAugment::Rule::torchaudio}) {
      SpecAugment op = SpecAugment::policy("LD");
      op.time_warp = warp;
      op.rule = rule;
      auto before = Pipeline::from(Spectrograms{}).seed(3).then(op).batch({.size = 8}).build();
      auto after = Pipeline::from(Spectrograms{})
                       .seed(3)
                       .then(DrawSpecAugment{op})
                       .batch({.size = 8})
                       .then(ApplySpecAugment{op})
                       .build();
      auto samples = before.epoch(0);
      auto batches = after.epoch(0);
      auto a = samples.begin();
      auto b = batches.begin();
      int count = 0;
      for (; a != samples.end() && b != batches.end(); ++a, ++b, ++count) {
        const Tensor one = (*a)["spectrogram"];
        const Tensor other = (*b)["spectrogram"];
        REQUIRE(one.shape() == other.shape());
        REQUIRE(std::equal(one.values<float>().begin(), one.values<float>().end(),
                           other.values<float>().begin()));
      }
      CHECK(count == 4);
    }
  }
}

TEST_CASE("masks are drawn for spectrograms that the sample does not hold") {
  SpecAugment op = SpecAugment::policy("LD");
  for (const SpecAugment::Rule rule : {SpecAugment::Rule::paper, SpecAugment::Rule::torchaudio}) {
    op.rule = rule;
    const Shape shape{3, 40, 200};
    const DrawSpecAugment unseen{.augment = op, .shape = shape};
    const Schema made = unseen.schema({FieldSpec::fixed("row", DType::int64, {})});
    for (const std::int64_t position : {0, 1, 2}) {
      Sample sample;
      Random random = random_of(position);
      unseen(sample, random);
      const Tensor masks = sample["spectrogram_masks"];
      CHECK(masks.shape() == made.at("spectrogram_masks").shape);
      const auto values = masks.values<std::int32_t>();
      CHECK(std::vector<std::int32_t>(values.begin(), values.end()) == drawn(op, shape, position));
    }
  }
  CHECK_THROWS_AS((DrawSpecAugment{.augment = op, .shape = {40}}.schema({})), ConfigError);
  op.time_masks = -1;
  CHECK_THROWS_AS((DrawSpecAugment{.augment = op, .shape = {40, 200}}.schema({})), ConfigError);
}

TEST_CASE("planes of a sample share the paper's masks and have torchaudio's each") {
  SpecAugment op{.frequency_masks = 1, .frequency_width = 10};
  const std::vector<float> values(3 * 40 * 6, 1.0F);
  const auto equal_planes = [&](std::int64_t position) {
    const std::vector<float> made = augmented(op, values, Shape{3, 40, 6}, position);
    return std::equal(made.begin(), made.begin() + 240, made.begin() + 240) &&
           std::equal(made.begin(), made.begin() + 240, made.begin() + 480);
  };
  int equal = 0;
  for (std::int64_t position = 0; position < 50; ++position)
    equal += equal_planes(position) ? 1 : 0;
  CHECK(equal == 50);
  op.rule = SpecAugment::Rule::torchaudio;
  equal = 0;
  for (std::int64_t position = 0; position < 50; ++position)
    equal += equal_planes(position) ? 1 : 0;
  CHECK(equal < 10);
}

TEST_CASE("SpecAugment refuses what cannot be right before anything runs") {
  const Schema in = {FieldSpec::fixed("spectrogram", DType::float32, Shape{80, 100}),
                     FieldSpec::fixed("image", DType::uint8, Shape{80, 100}),
                     FieldSpec::fixed("frames", DType::float32, Shape{})};
  CHECK(SpecAugment::policy("LB").schema(in) == in);
  CHECK_THROWS_AS(SpecAugment::policy("XX"), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.field = "image"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.time_warp = -1}.schema(in)), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.time_masks = 33}.schema(in)), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.time_share = 1.5}.schema(in)), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.fill = {0, 0, 0}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.fill = {NAN}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((SpecAugment{.length = "frames"}.schema(in)), ConfigError);
  CHECK_THROWS_AS((ApplySpecAugment{}.schema(in)), ConfigError);
}
