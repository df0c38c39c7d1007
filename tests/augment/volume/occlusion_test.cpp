#include <headrace/augment/volume/detail/occlusion.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Floats;

namespace {

const Shape occluded_shape{2, 6, 7, 9};
constexpr std::int64_t occluded_voxels = 2 * 6 * 7 * 9;

}  // namespace

TEST_CASE("each slice is moved by its own way, its border repeated, masks alike") {
  const Floats before = test::noise_floats(occluded_voxels);
  Bytes mask;
  for (int i = 0; i < 6 * 7 * 9; ++i)
    mask.push_back(static_cast<std::uint8_t>(i * 7 % 251));
  Sample sample = test::sample_with("image", before, occluded_shape);
  sample.set("label", Tensor::of(std::span<const std::uint8_t>(mask), Shape{6, 7, 9}));
  const SliceJitter op{.p = 1, .most = 3, .masks = {"label"}};
  Random random(RandomKey{.position = 4});
  Random again = random;
  op(sample, random);
  const auto drawn = op.draw(again);
  const auto image = sample["image"].values<float>();
  const auto label = sample["label"].values<std::uint8_t>();
  for (std::int64_t i = 0; i < occluded_voxels; ++i) {
    const auto shift = detail::slice_shift(drawn, i / 63 % 6);
    const std::int64_t y = std::clamp<std::int64_t>(i / 9 % 7 - shift.y, 0, 6);
    const std::int64_t x = std::clamp<std::int64_t>(i % 9 - shift.x, 0, 8);
    const std::int64_t from = (i / 63 * 7 + y) * 9 + x;
    REQUIRE(image[static_cast<std::size_t>(i)] == before[static_cast<std::size_t>(from)]);
    if (i < 378)
      REQUIRE(label[static_cast<std::size_t>(i)] == mask[static_cast<std::size_t>(from)]);
  }
}

TEST_CASE("ways longer than a slice leave its border alone") {
  for (const std::uint32_t key : {1U, 2U, 3U, 4U}) {
    Sample sample = test::sample_with("image", Floats{1, 2, 3, 4}, Shape{1, 1, 2, 2});
    const SliceJitterParameters drawn{.moves = true, .most = 50, .key = {key, 0}};
    const auto shift = detail::slice_shift(drawn, 0);
    detail::apply(drawn, sample.edit("image"));
    if (std::abs(shift.y) < 2 || std::abs(shift.x) < 2) continue;
    const float corner = (shift.y > 0 ? 1.0F : 3.0F) + (shift.x > 0 ? 0.0F : 1.0F);
    CHECK(test::values_of<float>(sample, "image") == Floats(4, corner));
  }
}

TEST_CASE("cutout fills its boxes in all channels and nothing else") {
  const Floats before = test::noise_floats(occluded_voxels);
  Sample sample = test::sample_with("image", before, occluded_shape);
  const VolumeCutout op{.p = 1, .boxes = 1, .side = {2, 4}, .fill = 9};
  Random random(RandomKey{.position = 4});
  Random again = random;
  op(sample, random);
  const auto box = op.draw({6, 7, 9}, again).boxes[0];
  const auto image = sample["image"].values<float>();
  for (std::int64_t i = 0; i < occluded_voxels; ++i) {
    const std::array<std::int64_t, 3> at = {i / 63 % 6, i / 9 % 7, i % 9};
    bool inside = true;
    for (std::size_t a = 0; a < 3; ++a)
      inside = inside && at[a] >= box.from[a] && at[a] < box.from[a] + box.size[a];
    const auto index = static_cast<std::size_t>(i);
    REQUIRE(image[index] == (inside ? 9 : before[index]));
  }
}

TEST_CASE("patch dropout fills its cells, cut off ones included, and nothing else") {
  Floats before = test::noise_floats(occluded_voxels);
  Sample sample = test::sample_with("image", before, occluded_shape);
  const PatchDropout op{.p = 1, .least_kept = 0, .cell = {2, 3, 4}, .fill = 9};
  Random random(RandomKey{.position = 4});
  Random again = random;
  op(sample, random);
  const auto drawn = op.draw({6, 7, 9}, again);
  CHECK(drawn.cells == std::array<std::int64_t, 3>{3, 3, 3});
  CHECK(drawn.count > 0);
  const auto image = sample["image"].values<float>();
  for (std::int64_t i = 0; i < occluded_voxels; ++i) {
    const std::int64_t cell = (i / 63 % 6 / 2 * 3 + i / 9 % 7 / 3) * 3 + i % 9 / 4;
    const auto index = static_cast<std::size_t>(i);
    REQUIRE(image[index] == ((drawn.dropped[0] >> cell & 1U) != 0 ? 9 : before[index]));
  }
}

TEST_CASE("jitter, cutout and dropout refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("image", DType::float32, occluded_shape),
                  FieldSpec::fixed("label", DType::uint8, Shape{6, 7, 9}),
                  FieldSpec::fixed("other", DType::uint8, Shape{6, 7, 8})};
  CHECK(SliceJitter{.masks = {"label"}}.schema(in) == in);
  CHECK(VolumeCutout{}.schema(in) == in);
  CHECK(PatchDropout{}.schema(in) == in);
  CHECK_THROWS_AS(SliceJitter{.most = -1}.schema(in), ConfigError);
  CHECK_THROWS_AS(SliceJitter{.masks = {"other"}}.schema(in), ConfigError);
  CHECK_THROWS_AS(SliceJitter{.field = "label"}.schema(in), ConfigError);
  CHECK_THROWS_AS(VolumeCutout{.boxes = 17}.schema(in), ConfigError);
  CHECK_THROWS_AS((VolumeCutout{.side = {5, 4}}.schema(in)), ConfigError);
  CHECK_THROWS_AS(PatchDropout{.least_kept = 1.5}.schema(in), ConfigError);
  CHECK_THROWS_AS((PatchDropout{.cell = {0, 1, 1}}.schema(in)), ConfigError);
  const Schema wide{FieldSpec::fixed("image", DType::float32, Shape{1, 99, 99, 99})};
  CHECK_THROWS_AS((PatchDropout{.cell = {1, 1, 1}}.schema(wide)), ConfigError);
}
