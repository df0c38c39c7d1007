#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/occlusion.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

constexpr int draws = 10000;

Random random_of(int position) {
  return Random(RandomKey{.seed = 3, .position = position});
}

/// Whether so many of so many are what probability p gives, within four deviations.
bool fits(int found, int of, double p) {
  return std::abs(found - of * p) <= 4 * std::sqrt(of * p * (1 - p)) + 1e-9;
}

struct Seen {
  int count = 0;
  int below_one = 0;
  double least = 1e9;
  double most = -1e9;
  double sum = 0;

  void add(float value) {
    const double wide = value;
    ++count;
    below_one += static_cast<int>(wide < 1);
    least = std::min(least, wide);
    most = std::max(most, wide);
    sum += wide;
  }
};

/// Draws for two channels 10,000 times; `look` gives a channel's value.
template <class Op, class Look>
Seen see(const Op& op, double p, double channel_p, const Look& look) {
  int any = 0;
  Seen seen;
  for (int i = 0; i < draws; ++i) {
    Random random = random_of(i);
    const auto drawn = op.draw(2, random);
    any += static_cast<int>(drawn.channels != 0);
    for (std::size_t c = 0; c < 2; ++c) {
      if (detail::has_channel(drawn.channels, static_cast<std::int64_t>(c)))
        seen.add(look(drawn, c));
    }
  }
  CHECK(fits(any, draws, p * (1 - (1 - channel_p) * (1 - channel_p))));
  return seen;
}

}  // namespace

TEST_CASE("noise comes with nnU-Net's probability, one deviation for all channels") {
  const Seen seen =
      see(VolumeNoise{}, 0.1, 1, [](const auto& d, std::size_t) { return d.deviation; });
  CHECK(seen.count % 2 == 0);
  CHECK(seen.least >= 0);
  CHECK(seen.least < 0.002);
  CHECK(seen.most <= 0.1);
  CHECK(seen.most > 0.098);
  CHECK(seen.sum / seen.count == doctest::Approx(0.05).epsilon(0.1));
}

TEST_CASE("blurs come with nnU-Net's probabilities, each axis its own deviation") {
  bool apart = false;
  const Seen seen = see(VolumeBlur{}, 0.2, 0.5, [&](const auto& d, std::size_t c) {
    apart = apart || d.deviations[c][0] != d.deviations[c][1];
    return d.deviations[c][2];
  });
  CHECK(apart);
  CHECK(seen.least >= 0.5);
  CHECK(seen.least < 0.51);
  CHECK(seen.most <= 1);
  CHECK(seen.most > 0.99);
}

TEST_CASE("factors of brightness and contrast are below and above 1 with equal probability") {
  const auto look = [](const auto& d, std::size_t c) { return d.factor[c]; };
  for (const Seen& seen :
       {see(VolumeBrightness{}, 0.15, 1, look), see(VolumeContrast{}, 0.15, 1, look)}) {
    CHECK(fits(seen.below_one, seen.count, 0.5));
    CHECK(seen.least >= 0.75);
    CHECK(seen.least < 0.76);
    CHECK(seen.most <= 1.25);
    CHECK(seen.most > 1.24);
  }
  const Seen above = see(VolumeContrast{.factor = {1.1, 1.3}}, 0.15, 1, look);
  CHECK(above.least >= 1.1);
  const Seen below = see(VolumeContrast{.factor = {0.5, 0.9}}, 0.15, 1, look);
  CHECK(below.least >= 0.5);
}

TEST_CASE("exponents are below and above 1 with equal probability, or uniform") {
  const auto look = [](const auto& d, std::size_t c) { return d.exponent[c]; };
  const Seen about = see(VolumeGamma{}, 0.3, 1, look);
  CHECK(fits(about.below_one, about.count, 0.5));
  CHECK(about.least >= 0.7F);
  CHECK(about.most <= 1.5);
  CHECK(VolumeGamma::inverted().invert);
  CHECK(fits(see(VolumeGamma::inverted(), 0.1, 1, look).count / 2, draws, 0.1));
  const Seen uniform =
      see(VolumeGamma{.exponent = {0.65, 1.6}, .rule = VolumeGamma::Rule::uniform}, 0.3, 1, look);
  CHECK(fits(uniform.below_one, uniform.count, 0.35 / 0.95));
  CHECK(uniform.least < 0.66);
  CHECK(uniform.most > 1.59);
}

TEST_CASE("zooms come with nnU-Net's probabilities, the same on all axes") {
  const Seen seen = see(VolumeLowResolution{}, 0.25, 0.5, [](const auto& d, std::size_t c) {
    CHECK(d.zoom[c][0] == d.zoom[c][1]);
    CHECK(d.zoom[c][0] == d.zoom[c][2]);
    return d.zoom[c][0];
  });
  CHECK(seen.least >= 0.5);
  CHECK(seen.most <= 1);
  CHECK(seen.sum / seen.count == doctest::Approx(0.75).epsilon(0.02));
  Random random = random_of(1);
  const auto flat = VolumeLowResolution{.p = 1, .channel_p = 1, .keep_depth = true}.draw(1, random);
  CHECK(flat.zoom[0][0] == 1);
}

TEST_CASE("cutout draws whole boxes inside the volume, of all sides in the range") {
  const VolumeCutout op{.side = {24, 64}};
  int any = 0;
  std::int64_t least = 1000;
  std::int64_t most = 0;
  for (int i = 0; i < draws; ++i) {
    Random random = random_of(i);
    const auto drawn = op.draw({40, 136, 150}, random);
    any += static_cast<int>(drawn.count > 0);
    for (int b = 0; b < drawn.count; ++b) {
      const auto& box = drawn.boxes[static_cast<std::size_t>(b)];
      REQUIRE(box.from[0] >= 0);
      REQUIRE(box.from[0] + box.size[0] <= 40);
      REQUIRE(box.from[2] + box.size[2] <= 150);
      least = std::min(least, box.size[2]);
      most = std::max(most, box.size[2]);
    }
  }
  CHECK(fits(any, draws, 0.15));
  CHECK(least == 24);
  CHECK(most == 64);
}

TEST_CASE("patch dropout keeps its share of the cells, and each is as likely to go") {
  const PatchDropout op;
  int any = 0;
  std::array<int, 45> gone{};
  std::int64_t most = 0;
  std::int64_t total = 0;
  for (int i = 0; i < draws; ++i) {
    Random random = random_of(i);
    const auto drawn = op.draw({33, 40, 70}, random);  // 3 x 3 x 5 cells
    if (drawn.cells[0] == 0) continue;
    ++any;
    int bits = 0;
    for (std::uint64_t word : drawn.dropped)
      bits += std::popcount(word);
    REQUIRE(bits == drawn.count);
    most = std::max(most, drawn.count);
    total += drawn.count;
    for (std::size_t c = 0; c < gone.size(); ++c)
      gone[c] += static_cast<int>(drawn.dropped[0] >> c & 1U);
  }
  CHECK(fits(any, draws, 0.15));
  CHECK(most == 17);  // of 18: a share of exactly 0.4 is never drawn
  const auto [few, many] = std::ranges::minmax(gone);
  const double each = static_cast<double>(total) / 45;
  CHECK(few > each * 0.75);
  CHECK(many < each * 1.25);
}

TEST_CASE("slices are moved by all ways as often, and with their probability") {
  int any = 0;
  std::array<int, 5> ways{};
  int slices = 0;
  for (int i = 0; i < draws; ++i) {
    Random random = random_of(i);
    const auto drawn = SliceJitter{}.draw(random);
    if (!drawn.moves) continue;
    ++any;
    for (std::int64_t z = 0; z < 4; ++z) {
      const auto shift = detail::slice_shift(drawn, z);
      REQUIRE(std::abs(shift.y) <= 2);
      ++ways[static_cast<std::size_t>(shift.x + 2)];
      ++slices;
    }
  }
  CHECK(fits(any, draws, 0.15));
  for (int way : ways)
    CHECK(fits(way, slices, 0.2));
}

TEST_CASE("the composition draws for all channels, its parts apart") {
  NnUNetIntensity op;
  const NnUNetIntensity usual;
  int both = 0;
  for (int i = 0; i < draws; ++i) {
    Random random = random_of(i);
    const auto drawn = usual.draw(2, random);
    both += static_cast<int>(drawn.noise.channels != 0 && drawn.gamma.channels != 0);
  }
  CHECK(fits(both, draws, 0.1 * 0.3));
  for (double* p :
       {&op.noise.p, &op.blur.p, &op.blur.channel_p, &op.brightness.p, &op.contrast.p,
        &op.low_resolution.p, &op.low_resolution.channel_p, &op.gamma_inverted.p, &op.gamma.p})
    *p = 1;
  Random random = random_of(0);
  const auto drawn = op.draw(2, random);
  for (const std::uint32_t channels :
       {drawn.noise.channels, drawn.blur.channels, drawn.brightness.channels,
        drawn.contrast.channels, drawn.low_resolution.channels, drawn.gamma_inverted.channels,
        drawn.gamma.channels})
    CHECK(channels == 3);
  CHECK(drawn.gamma_inverted.invert);
  CHECK_FALSE(drawn.gamma.invert);
  CHECK(drawn.brightness.factor[0] != drawn.brightness.factor[1]);
  CHECK(drawn.brightness.factor[0] != drawn.contrast.factor[0]);
}
