#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Floats;

namespace {

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Runs `change(values, target)` for every vector target; it gives false past the last.
template <class Change>
void check_targets(const Floats& from, const Change& change) {
  Floats first = from;
  REQUIRE(change(first, 0));
  CHECK_FALSE(same_bits(first, from));
  int target = 1;
  for (;; ++target) {
    Floats other = from;
    if (!change(other, target)) break;
    REQUIRE(same_bits(first, other));
  }
  CHECK(target > 1);
}

/// A composition of which everything is drawn, most of the time.
NnUNetIntensity eager() {
  NnUNetIntensity op;
  for (double* p : {&op.noise.p, &op.blur.p, &op.brightness.p, &op.contrast.p, &op.low_resolution.p,
                    &op.gamma_inverted.p, &op.gamma.p})
    *p = 0.7;
  return op;
}

const Shape image_shape{2, 10, 23, 37};
constexpr std::int64_t image_voxels = 2 * 10 * 23 * 37;

Floats by_composition(const NnUNetIntensity& op, int position) {
  Sample sample = test::sample_with("image", test::noise_floats(image_voxels), image_shape);
  Random random(RandomKey{.position = position});
  op(sample, random);
  return test::values_of<float>(sample, "image");
}

}  // namespace

TEST_CASE("every vector width makes the same values by every step, and measures the same") {
  using Kind = detail::VoxelStep::Kind;
  for (const std::int64_t count : {1, 31, 1024, 5000}) {
    for (const Kind kind :
         {Kind::noise, Kind::scale, Kind::affine, Kind::clamp, Kind::power, Kind::negate}) {
      const detail::VoxelStep step{.kind = kind,
                                   .scale = 1.7F,
                                   .from = -2.0F,
                                   .to = -1.99F,
                                   .divisor = 4.0F,
                                   .exponent = 0.83F,
                                   .key = {5, 6},
                                   .channel = 1};
      check_targets(test::noise_floats(count), [&](Floats& values, int target) {
        detail::VoxelStatistics found;
        if (!detail::pass_voxels(values, {&step, 1}, &found, target)) return false;
        values.insert(values.end(), {found.mean, found.deviation, found.least, found.most});
        return true;
      });
    }
  }
}

TEST_CASE("every vector width filters to the same values") {
  for (const detail::Voxels& size :
       {detail::Voxels{nullptr, 1, 10, 23, 37}, {nullptr, 1, 1, 5, 3}, {nullptr, 1, 4, 2, 136}}) {
    const Floats from = test::noise_floats(size.count());
    for (const double deviation : {0.5, 0.9, 1.7, 3.0}) {
      const auto axis = detail::blur_axis(deviation);
      check_targets(from, [&](Floats& values, int target) {
        return detail::blur_channel(values.data(), size, {axis, axis, axis}, target);
      });
    }
    check_targets(from, [&](Floats& values, int target) {
      return detail::lower_resolution(
          values.data(), size,
          {detail::zoomed_size(size.depth, 0.7F), detail::zoomed_size(size.height, 0.7F),
           detail::zoomed_size(size.width, 0.7F)},
          target);
    });
  }
}

TEST_CASE("the composition makes the values of its parts one by one") {
  const NnUNetIntensity op = eager();
  for (int position = 0; position < 20; ++position) {
    Random random(RandomKey{.position = position});
    const auto drawn = op.draw(2, random);
    Sample sample = test::sample_with("image", test::noise_floats(image_voxels), image_shape);
    detail::apply_to_field(drawn.noise, "image", sample);
    detail::apply_to_field(drawn.blur, "image", sample);
    detail::apply_to_field(drawn.brightness, "image", sample);
    detail::apply_to_field(drawn.contrast, "image", sample);
    detail::apply_to_field(drawn.low_resolution, "image", sample);
    detail::apply_to_field(drawn.gamma_inverted, "image", sample);
    detail::apply_to_field(drawn.gamma, "image", sample);
    REQUIRE(same_bits(test::values_of<float>(sample, "image"), by_composition(op, position)));
  }
}

TEST_CASE("8 threads at once make what one makes") {
  const NnUNetIntensity op = eager();
  std::vector<Floats> found(16);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < found.size(); i += 8)
        found[i] = by_composition(op, static_cast<int>(i));
    });
  }
  threads.clear();
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(same_bits(found[i], by_composition(op, static_cast<int>(i))));
  CHECK_FALSE(same_bits(found[0], found[1]));
}

TEST_CASE("what is borrowed stays as it is, the sample's own is changed in place") {
  Floats cached = test::noise_floats(64);
  const Floats before = cached;
  Sample sample;
  sample.set("image", Tensor::borrow(cached.data(), DType::float32, Shape{1, 4, 4, 4}));
  const VolumeBrightness twice{.p = 1, .factor = {2, 2}};
  Random random(RandomKey{});
  twice(sample, random);
  CHECK(cached == before);
  const void* own = sample["image"].raw();
  CHECK(own != cached.data());
  twice(sample, random);
  CHECK(sample["image"].raw() == own);
  CHECK(sample["image"].values<float>()[5] == before[5] * 4);
  const VolumeBrightness never{.p = 0};
  sample.set("image", Tensor::borrow(cached.data(), DType::float32, Shape{1, 4, 4, 4}));
  never(sample, random);
  CHECK(sample["image"].raw() == cached.data());
}
