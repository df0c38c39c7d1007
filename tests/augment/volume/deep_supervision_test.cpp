#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::StoredValues;

TEST_CASE("nearest targets are those of interpolate(mode=\"nearest-exact\")") {
  Sample sample = test::sample_with("label", StoredValues::get().bytes("label"), Shape{13, 18, 21});
  const DeepSupervisionTargets op{
      .factors = {{2, 2, 2}, {1, 4, 4}, {1 / 0.3, 1 / 0.7, 1 / 0.9}, {8, 1, 1}}};
  op(sample);
  const auto stored = [](const char* name) { return StoredValues::get().bytes(name); };
  const auto found = [&](const char* name) { return test::values_of<std::uint8_t>(sample, name); };
  CHECK(sample["label_1"].shape() == Shape{6, 9, 10});  // halves to even
  CHECK(found("label_1") == stored("nearest 0.5 0.5 0.5"));
  CHECK(found("label_2") == stored("nearest 1.0 0.25 0.25"));
  CHECK(found("label_3") == stored("nearest 0.3 0.7 0.9"));
  CHECK(found("label_4") == stored("nearest 0.125 1.0 1.0"));
}

TEST_CASE("surface targets keep thin surfaces, and what is unknown before background") {
  // Of pairs: background, surface and background, surface and ignore, ignore and background, two
  // surfaces, ignore.
  const std::vector<std::int32_t> label = {0, 0, 0, 1, 1, 2, 2, 0, 1, 3, 2, 2};
  Sample sample = test::sample_with("label", label, Shape{1, 1, 1, 12});
  const DeepSupervisionTargets op{.factors = {{1, 1, 2}, {1, 1, 4}},
                                  .rule = DeepSupervisionTargets::Rule::surface,
                                  .ignore = 2};
  op(sample);
  CHECK(test::values_of<std::int32_t>(sample, "label_1") ==
        std::vector<std::int32_t>{0, 1, 1, 2, 3, 2});
  CHECK(test::values_of<std::int32_t>(sample, "label_2") == std::vector<std::int32_t>{1, 1, 3});
  CHECK(sample["label_2"].shape() == Shape{1, 1, 1, 3});
}

TEST_CASE("surface targets look at every voxel, of sides that do not divide, too") {
  for (const auto sides :
       {DeepSupervisionTargets::Sides::down, DeepSupervisionTargets::Sides::up}) {
    for (std::size_t set = 0; set < 5 * 7 * 9; ++set) {
      Bytes label(5 * 7 * 9, 0);
      label[set] = 1;
      Sample sample = test::sample_with("label", label, Shape{5, 7, 9});
      const DeepSupervisionTargets op{
          .factors = {{2, 2, 2}}, .rule = DeepSupervisionTargets::Rule::surface, .sides = sides};
      op(sample);
      const Bytes small = test::values_of<std::uint8_t>(sample, "label_1");
      REQUIRE(std::ranges::count(small, 1) > 0);
    }
  }
}

TEST_CASE("a voxel that two smaller ones cover in part is in both") {
  Sample sample = test::sample_with("label", Bytes{0, 0, 1, 0, 0}, Shape{1, 1, 5});
  const DeepSupervisionTargets op{.factors = {{1, 1, 2}},
                                  .rule = DeepSupervisionTargets::Rule::surface};
  op(sample);
  CHECK(test::values_of<std::uint8_t>(sample, "label_1") == Bytes{1, 1});
}

TEST_CASE("targets say their shapes before they are made, and refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("label", DType::uint8, Shape{1, 9, 17, 18})};
  const auto of = [&](DeepSupervisionTargets::Sides sides) {
    return DeepSupervisionTargets{.factors = {{1, 2, 4}}, .sides = sides}
        .schema(in)
        .at("label_1")
        .shape;
  };
  CHECK(of(DeepSupervisionTargets::Sides::nearest) == Shape{1, 9, 8, 4});
  CHECK(of(DeepSupervisionTargets::Sides::down) == Shape{1, 9, 8, 4});
  CHECK(of(DeepSupervisionTargets::Sides::up) == Shape{1, 9, 9, 5});
  CHECK(DeepSupervisionTargets{}.schema(in).size() == 4);
  CHECK(DeepSupervisionTargets{}.working_bytes(in) == 72);
  CHECK_THROWS_AS((DeepSupervisionTargets{.factors = {}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((DeepSupervisionTargets{.factors = {{0.5, 1, 1}}}.schema(in)), ConfigError);
  CHECK_THROWS_AS((DeepSupervisionTargets{.field = "other"}.schema(in)), ConfigError);
}
