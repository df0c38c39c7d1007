// Intensity of volumes on a device, against the operation on samples.
#include <headrace/augment/volume/detail/plan_intensity.h>
#include <headrace/augment/volume/detail/voxel_pass.h>
#include <headrace/augment/volume/detail/voxels.h>
#include <headrace/augment/volume/nnunet_intensity_batch.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include "kernel_device.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN(HEADRACE_KERNEL_SUITE);

namespace headrace::test {
namespace {

using detail::IntensityPlan;
using detail::IntensityTask;
using detail::MeasuredVoxels;
using Parameters = NnUNetIntensity::Parameters;

constexpr std::uint32_t all_parts = 127;

/// Images one after another, and what was drawn for each.
struct Images {
  Shape shape;
  std::vector<Parameters> drawn;
  Floats values;

  std::int64_t voxels() const { return shape[1] * shape[2] * shape[3]; }
  std::int64_t rows() const { return static_cast<std::int64_t>(drawn.size()) * shape[0]; }
};

Images images_of(const Shape& shape, std::vector<Parameters> drawn, unsigned seed = 1) {
  const auto count = static_cast<std::int64_t>(drawn.size()) * shape.elements();
  return {shape, std::move(drawn), noise_floats(count, seed)};
}

Floats by_operation(const Images& images) {
  Floats found;
  const auto each = static_cast<std::size_t>(images.shape.elements());
  for (std::size_t i = 0; i < images.drawn.size(); ++i) {
    const auto begin = images.values.begin() + static_cast<std::ptrdiff_t>(i * each);
    Sample sample = sample_with("image", Floats(begin, begin + static_cast<std::ptrdiff_t>(each)),
                                images.shape);
    NnUNetIntensity{}.apply(sample, images.drawn[i]);
    const Floats made = values_of<float>(sample, "image");
    found.insert(found.end(), made.begin(), made.end());
  }
  return found;
}

struct Made {
  std::vector<std::byte> image;
  std::vector<MeasuredVoxels> measured;
};

Made on_device(const Images& images, std::uint32_t parts = all_parts) {
  const detail::Voxels shape{nullptr, images.shape[0], images.shape[1], images.shape[2],
                             images.shape[3]};
  std::vector<IntensityPlan> plans;
  for (const Parameters& drawn : images.drawn)
    for (std::int64_t c = 0; c < shape.channels; ++c)
      plans.push_back(detail::plan_intensity(drawn, shape, c));
  const DeviceBytes image(images.values.data(), images.values.size() * sizeof(float));
  const DeviceBytes on_plans(plans.data(), plans.size() * sizeof(IntensityPlan));
  const auto rows = static_cast<std::size_t>(images.rows());
  // Apart, so that each ends where it does; of no content that could be right.
  const std::vector<std::byte> rubbish(detail::intensity_memory(images.rows(), shape.count()),
                                       std::byte{0x7f});
  const DeviceBytes scratch(rubbish.data(), images.values.size() * sizeof(float));
  const DeviceBytes sums(rubbish.data(), rows * static_cast<std::size_t>(shape.count() / 1024) *
                                             sizeof(detail::BlockSums));
  const DeviceBytes measured(rubbish.data(),
                             rows * IntensityTask::measures * sizeof(MeasuredVoxels));
  const IntensityTask task{
      .image = reinterpret_cast<float*>(image.data()),
      .scratch = reinterpret_cast<float*>(scratch.data()),
      .plans = reinterpret_cast<const IntensityPlan*>(on_plans.data()),
      .measured = reinterpret_cast<MeasuredVoxels*>(measured.data()),
      .sums = reinterpret_cast<detail::BlockSums*>(sums.data()),
      .rows = images.rows(),
      .channels = static_cast<std::int32_t>(shape.channels),
      .extent = {static_cast<std::int32_t>(shape.depth), static_cast<std::int32_t>(shape.height),
                 static_cast<std::int32_t>(shape.width)},
      .parts = parts};
  detail::intensity_on_device(task, Device::cuda(0), {});
  Made made{image.read(), std::vector<MeasuredVoxels>(rows * IntensityTask::measures)};
  const std::vector<std::byte> found = measured.read();
  std::memcpy(made.measured.data(), found.data(), found.size());
  return made;
}

bool same_bits(const std::vector<std::byte>& bytes, const Floats& values) {
  return bytes.size() == values.size() * sizeof(float) &&
         std::memcmp(bytes.data(), values.data(), bytes.size()) == 0;
}

/// Whether the device makes of them what the operation does, in each order, and something else.
void check_same(const Images& images) {
  const Floats wanted = by_operation(images);
  in_each_order([&] { REQUIRE(same_bits(on_device(images).image, wanted)); });
}

/// A part of a sample of up to 3 channels, all of them changed.
Parameters only(const std::function<void(Parameters&)>& set) {
  Parameters drawn;
  set(drawn);
  return drawn;
}

void set_noise(Parameters& drawn) {
  drawn.noise = {.channels = 7, .deviation = 0.7F, .key = {11, 4'000'000'000U}};
}

void set_contrast(Parameters& drawn, float factor, bool preserve) {
  drawn.contrast = {.channels = 7, .preserve_range = preserve};
  drawn.contrast.factor.fill(factor);
}

void set_gamma(VolumeGammaParameters& drawn, float exponent, bool invert, bool retain) {
  drawn = {.channels = 7, .invert = invert, .retain = retain};
  drawn.exponent.fill(exponent);
}

void set_blur(Parameters& drawn, float z, float y, float x) {
  drawn.blur.channels = 7;
  drawn.blur.deviations.fill({z, y, x});
}

void set_low_resolution(Parameters& drawn, float z, float y, float x) {
  drawn.low_resolution.channels = 7;
  drawn.low_resolution.zoom.fill({z, y, x});
}

std::vector<Shape> odd_shapes() {
  return {{1, 1, 1, 1},   {1, 1, 1, 31},   {2, 1, 32, 32},  {1, 3, 5, 7},   {3, 4, 16, 16},
          {2, 5, 13, 37}, {1, 2, 3, 1025}, {2, 11, 1, 129}, {1, 9, 23, 37}, {1, 4, 2, 136}};
}

NnUNetIntensity eager(double p) {
  NnUNetIntensity op;
  for (double* each : {&op.noise.p, &op.blur.p, &op.brightness.p, &op.contrast.p,
                       &op.low_resolution.p, &op.gamma_inverted.p, &op.gamma.p})
    *each = p;
  for (double* each : {&op.blur.channel_p, &op.low_resolution.channel_p})
    *each = 0.7;
  return op;
}

}  // namespace

TEST_CASE("each step of intensity has the host's bits on a device") {
  if (!device_present()) return skip("kernels need a GPU");
  const std::vector<std::function<void(Parameters&)>> parts = {
      set_noise,
      [](Parameters& p) {
        p.brightness.channels = 7;
        p.brightness.factor.fill(1.37F);
      },
      [](Parameters& p) { set_contrast(p, 1.9F, true); },
      [](Parameters& p) { set_contrast(p, 0.6F, false); },
      [](Parameters& p) { set_gamma(p.gamma, 1.4F, false, true); },
      [](Parameters& p) { set_gamma(p.gamma, 0.7F, false, false); },
      [](Parameters& p) { set_gamma(p.gamma_inverted, 1.2F, true, true); },
      [](Parameters& p) { set_gamma(p.gamma_inverted, 0.8F, true, false); },
  };
  for (const Shape& shape : odd_shapes()) {
    CAPTURE(to_string(shape));
    for (std::size_t part = 0; part < parts.size(); ++part) {
      CAPTURE(part);
      const Images images = images_of(shape, {only(parts[part]), {}});
      check_same(images);
      if (shape.elements() > 1) CHECK(!same_bits(on_device(images).image, images.values));
    }
  }
}

TEST_CASE("statistics of voxels on a device are the host's to the bit") {
  if (!device_present()) return skip("kernels need a GPU");
  for (const Shape& shape : odd_shapes()) {
    CAPTURE(to_string(shape));
    const Images images =
        images_of(shape, {only([](Parameters& p) { set_contrast(p, 1.0F, true); })}, 5);
    in_each_order([&] {
      const Made made = on_device(images);
      const auto each = static_cast<std::size_t>(images.voxels());
      for (std::size_t row = 0; row < static_cast<std::size_t>(images.rows()); ++row) {
        Floats values(images.values.begin() + static_cast<std::ptrdiff_t>(row * each),
                      images.values.begin() + static_cast<std::ptrdiff_t>((row + 1) * each));
        detail::VoxelStatistics wanted;
        detail::pass_voxels(values, {}, &wanted);
        const MeasuredVoxels& found = made.measured[row * IntensityTask::measures];
        CHECK(found.mean == wanted.mean);
        CHECK(found.deviation == wanted.deviation);
        CHECK(found.least == wanted.least);
        CHECK(found.most == wanted.most);
      }
    });
  }
}

TEST_CASE("a blur of each axis and of all has the host's bits on a device") {
  if (!device_present()) return skip("kernels need a GPU");
  constexpr float none = 0.01F;
  for (const Shape& shape : odd_shapes()) {
    CAPTURE(to_string(shape));
    for (const float deviation : {0.5F, 0.9F, 3.0F}) {
      CAPTURE(deviation);
      const auto blurred = [](float z, float y, float x) {
        return only([=](Parameters& p) { set_blur(p, z, y, x); });
      };
      check_same(
          images_of(shape, {blurred(deviation, none, none), blurred(none, deviation, none),
                            blurred(none, none, deviation), blurred(0.6F, deviation, 1.0F)}));
    }
  }
}

TEST_CASE("low resolution of odd sizes has the host's bits on a device") {
  if (!device_present()) return skip("kernels need a GPU");
  for (const Shape& shape : odd_shapes()) {
    CAPTURE(to_string(shape));
    const auto lowered = [](float z, float y, float x) {
      return only([=](Parameters& p) { set_low_resolution(p, z, y, x); });
    };
    check_same(images_of(shape, {lowered(0.5F, 0.5F, 0.5F), lowered(1.0F, 0.73F, 0.61F),
                                 lowered(0.31F, 1.0F, 0.97F), lowered(0.1F, 0.01F, 0.2F)}));
  }
}

TEST_CASE("whole chains of intensity have the host's bits on a device") {
  if (!device_present()) return skip("kernels need a GPU");
  const std::vector<Shape> shapes = {{1, 9, 23, 37}, {2, 5, 13, 37}, {3, 4, 16, 16}, {2, 1, 7, 33}};
  for (int seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const NnUNetIntensity op = eager(seed % 2 == 0 ? 1.0 : 0.6);
    const Shape& shape = shapes[static_cast<std::size_t>(seed) % shapes.size()];
    std::vector<Parameters> drawn;
    for (int sample = 0; sample <= seed % 3; ++sample) {
      Random random(RandomKey{.seed = static_cast<std::uint64_t>(seed), .position = sample});
      drawn.push_back(op.draw(shape[0], random));
    }
    drawn.back().gamma.invert = seed % 5 == 0;
    drawn.back().gamma_inverted.retain = seed % 7 != 0;
    drawn.back().gamma.retain = seed % 11 != 0;
    check_same(images_of(shape, drawn, static_cast<unsigned>(seed) + 1));
  }
}

TEST_CASE("parts that the launch does not have are left out on a device") {
  if (!device_present()) return skip("kernels need a GPU");
  Random random(RandomKey{.seed = 9});
  Images images = images_of({2, 5, 13, 37}, {eager(1.0).draw(2, random)});
  const Made found = on_device(images, IntensityPlan::noise | IntensityPlan::gamma);
  Parameters& drawn = images.drawn.front();
  drawn.blur.channels = 0;
  drawn.brightness.channels = 0;
  drawn.contrast.channels = 0;
  drawn.low_resolution.channels = 0;
  drawn.gamma.channels = 0;
  CHECK(same_bits(found.image, by_operation(images)));
}

namespace {

/// Volumes of the number's own values; every fourth is torn.
class Volumes final : public Source {
 public:
  static constexpr std::int64_t count = 21;
  std::string name() const override { return "volumes"; }
  std::int64_t size() const override { return count; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::float32, Shape{2, 5, 9, 33})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    if (index % 4 == 3) throw DataError("torn");
    const Floats values = noise_floats(2 * 5 * 9 * 33, static_cast<unsigned>(index) + 1);
    Tensor& image = sample.make("image", DType::float32, Shape{2, 5, 9, 33});
    std::memcpy(image.raw(), values.data(), image.bytes());
  }
};

enum class Form { on_samples, on_batches, on_device };

/// The images of two epochs, torn ones are zeros.
std::vector<std::string> epochs_of(Form form, int threads, std::uint64_t seed = 3) {
  const NnUNetIntensity op = eager(0.7);
  Pipeline pipeline = Pipeline::from(std::make_shared<Volumes>())
                          .named("train")
                          .order(Shuffled{.seed = seed})
                          .on_bad_sample({.rule = BadSamples::Rule::shrink});
  pipeline = form == Form::on_samples
                 ? std::move(pipeline).then(op).batch({.size = 4})
                 : std::move(pipeline).then(DrawNnUNetIntensity{op}).batch({.size = 4});
  const detail::DeviceStream trainer = form == Form::on_device
                                           ? detail::make_stream(Device::cuda(0), false)
                                           : detail::DeviceStream();
  const Stream stream{trainer.get()};
  if (form == Form::on_device) pipeline = std::move(pipeline).to(Device::cuda(0));
  if (form != Form::on_samples) pipeline = std::move(pipeline).then(ApplyNnUNetIntensity{op});
  Loader loader = std::move(pipeline).build({.runtime = Runtime({.threads = threads})});
  std::vector<std::string> batches;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch, stream)) {
      const Tensor image = batch["image"];
      if (!image.device().is_cuda()) {
        batches.emplace_back(static_cast<const char*>(image.raw()), image.bytes());
        continue;
      }
      const detail::DeviceScope scope(image.device());
      detail::drain(stream);
      const std::vector<std::byte> bytes = bytes_on_device(image.raw(), image.bytes());
      batches.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }
  return batches;
}

}  // namespace

TEST_CASE("a batch's intensity is that of its samples, on the host and on a device") {
  const std::vector<std::string> wanted = epochs_of(Form::on_samples, 1);
  CHECK(wanted.size() == 12);
  CHECK((epochs_of(Form::on_batches, 2) == wanted));
  if (!device_present()) return skip("the rest needs a GPU");
  for (const int threads : {1, 2, 8}) {
    CAPTURE(threads);
    CHECK((epochs_of(Form::on_device, threads) == wanted));
  }
  CHECK_FALSE((epochs_of(Form::on_device, 2, 4) == wanted));
}

TEST_CASE("a batch's intensity refuses what it cannot do") {
  const Schema ragged{FieldSpec::padded("image", DType::float32, Shape{1, 4, 4, 4})};
  CHECK_THROWS_WITH_AS(DrawNnUNetIntensity{}.schema(ragged), doctest::Contains("one shape"),
                       ConfigError);
  const Schema plain{FieldSpec::fixed("image", DType::float32, Shape{1, 4, 4, 4})};
  CHECK_THROWS_WITH_AS(ApplyNnUNetIntensity{}.schema(plain), doctest::Contains("image_intensity"),
                       ConfigError);
  Schema other = plain;
  other.put(FieldSpec::fixed("image_intensity", DType::uint8, Shape{1, 8}));
  CHECK_THROWS_WITH_AS(ApplyNnUNetIntensity{}.schema(other),
                       doctest::Contains("as DrawNnUNetIntensity makes it"), ConfigError);
  DrawNnUNetIntensity draws;
  draws.shape = {2, 4, 5, 6};
  const Schema drawn = draws.schema(Schema{});
  CHECK(drawn.at("image_intensity").shape[0] == 2);
}

}  // namespace headrace::test

TEST_SUITE_END();
