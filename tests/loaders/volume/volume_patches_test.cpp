// Patches of volumes in a pipeline: what is read and drawn for them.
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/loaders/volume/volume_patches.h>

#include "made_volume.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

std::int64_t value_at(const VolumeIndex& at) {
  return (at[0] * 50 + at[1] * 7 + at[2] * 3 + at[3]) % 200;
}

/// 1 and 2 in two corners, 9 (which is ignored) in a slab, else 0.
std::int64_t patch_label_at(const VolumeIndex& at) {
  if (at[1] >= 20 && at[1] < 24) return 9;
  if (at[1] < 6 && at[2] < 8 && at[3] < 10) return 1;
  return at[1] >= 16 && at[1] < 20 && at[2] >= 24 && at[3] >= 28 ? 2 : 0;
}

constexpr VolumeIndex shape{1, 30, 34, 38};

using Value = std::int64_t (*)(const VolumeIndex&);

template <class T>
std::shared_ptr<const Volume> made(const VolumeInfo& info, Value value) {
  return std::make_shared<const MadeVolume<T>>(
      info, [value](const VolumeIndex& at) { return static_cast<T>(value(at)); });
}

std::shared_ptr<const CachedVolume> cached(const std::shared_ptr<BlockCache>& cache, DType dtype,
                                           Value value, VolumeIndex extents = shape) {
  const VolumeInfo info{.shape = extents, .block = {1, 8, 8, 8}, .dtype = dtype};
  const auto volume = dtype == DType::uint8   ? made<std::uint8_t>(info, value)
                      : dtype == DType::int16 ? made<std::int16_t>(info, value)
                                              : made<float>(info, value);
  return std::make_shared<const CachedVolume>(volume, cache);
}

VolumeCase patch_case(const std::shared_ptr<BlockCache>& cache, DType image = DType::uint8,
                      DType label = DType::uint8, VolumeIndex extents = shape) {
  VolumeCase of{.name = "case",
                .images = {cached(cache, image, value_at, extents)},
                .label = cached(cache, label, patch_label_at, extents)};
  of.foreground = std::make_shared<const ForegroundIndex>(
      *of.label, ForegroundOptions{.labels = {1, 2}, .ignore = 9});
  return of;
}

VolumePatchesOptions options_of(const std::array<std::int64_t, 3>& patch) {
  VolumePatchesOptions options{.patch = patch, .seed = 5};
  options.sampling.ignore = 9;
  return options;
}

struct Epoch {
  std::vector<float> image{};
  std::vector<std::uint8_t> label{};
};

Epoch epoch_of(const std::shared_ptr<const Source>& source, const ResamplePatch& resample,
               int threads, bool in_batches = false) {
  Pipeline pipeline = Pipeline::from(source).order(Shuffled{.seed = 3});
  if (!in_batches) pipeline = std::move(pipeline).then(resample);
  pipeline = std::move(pipeline).batch({.size = 2});
  if (in_batches) pipeline = std::move(pipeline).then(ResamplePatches{resample});
  Loader loader = pipeline.build({.runtime = Runtime({.threads = threads})});
  Epoch out;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      const Tensor image = batch["image"];
      const Tensor label = batch["label"];
      const float* from = image.data<float>();
      out.image.insert(out.image.end(), from, from + image.shape().elements());
      const auto* bytes = static_cast<const std::uint8_t*>(label.raw());
      out.label.insert(out.label.end(), bytes, bytes + label.bytes());
    }
  }
  return out;
}

SpatialTransform wild() {
  return {.rotation = 0.7,
          .scaling = 0.5,
          .elastic = 0.5,
          .elastic_sigma = 4.0,
          .elastic_voxels = {1.0, 3.0},
          .mirror = {0.5, 0.5, 0.5}};
}

}  // namespace

TEST_CASE(
    "A patch that is only cut out holds the volume's voxels and labels, and what is outside") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  for (const DType dtype : {DType::uint8, DType::int16, DType::float32}) {
    VolumePatchesOptions options = options_of({9, 40, 7});  // wider than the volume
    options.outside = -3.0;
    const VolumePatches source({patch_case(cache, dtype)}, options);
    Sample sample;
    sample.origin() = {.index = 0, .epoch = 1, .position = 4};
    source.read(0, sample);
    source.resample()(sample);
    REQUIRE(sample["image"].shape() == Shape{1, 9, 40, 7});
    const auto* image = sample["image"].data<float>();
    const auto* label = sample["label"].data<std::uint8_t>();
    // Where it begins is found by its first voxel inside; then all must follow.
    bool found = false;
    for (std::int64_t z = 0; z + 9 <= 30 && !found; ++z) {
      for (std::int64_t x = 0; x + 7 <= 38 && !found; ++x) {
        bool all = true;
        for (std::int64_t i = 0; i < 9 * 40 * 7 && all; ++i) {
          const VolumeIndex at{0, z + i / 280, i / 7 % 40 - 3, x + i % 7};
          const bool outside = at[2] < 0 || at[2] >= 34;
          const double wanted =
              outside ? (dtype == DType::uint8 ? 0.0 : -3.0) : static_cast<double>(value_at(at));
          all = image[i] == static_cast<float>(wanted) &&
                label[i] == (outside ? 9 : patch_label_at(at));
        }
        found = all;
      }
    }
    CHECK(found);
  }
}

TEST_CASE("Patches are the same bytes for 1, 2 and 8 threads, before and after batch()") {
  const auto cache = std::make_shared<BlockCache>(40 * 512);  // a fraction of the blocks
  VolumePatchesOptions options = options_of({8, 9, 10});
  options.transform = wild();
  std::vector<VolumeCase> cases;
  for (int i = 0; i < 5; ++i)
    cases.push_back(patch_case(cache));
  const auto make = [&](std::uint64_t seed) {
    VolumePatchesOptions seeded = options;
    seeded.seed = seed;
    return std::make_shared<const VolumePatches>(cases, seeded);
  };
  const auto source = make(5);
  const auto each = std::make_shared<const Expanded>(source, 4);
  const Epoch one = epoch_of(each, source->resample(), 1);
  CHECK(one.image.size() == std::size_t{2} * 5 * 4 * 8 * 9 * 10);
  for (const int threads : {2, 8}) {
    const Epoch more = epoch_of(each, source->resample(), threads);
    CHECK(more.image == one.image);
    CHECK(more.label == one.label);
  }
  const Epoch batches = epoch_of(each, source->resample(), 2, true);
  CHECK(batches.image == one.image);
  CHECK(batches.label == one.label);
  const auto other = std::make_shared<const Expanded>(make(6), 4);
  CHECK(epoch_of(other, source->resample(), 2).image != one.image);
  CHECK(cache->stats().most_resident_bytes <= 40 * 512);
}

TEST_CASE("A loader goes on in the midst of a volume's patches") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumePatchesOptions options = options_of({8, 8, 8});
  options.transform = wild();
  const auto source = std::make_shared<const VolumePatches>(
      std::vector<VolumeCase>{patch_case(cache), patch_case(cache)}, options);
  const auto each = std::make_shared<const Expanded>(source, 5);
  const auto make = [&] {
    return Pipeline::from(std::shared_ptr<const Source>(each))
        .order(ShuffledByChunk{.seed = 3, .chunk = 5})
        .then(source->resample())
        .batch({.size = 2})
        .build({.runtime = Runtime({.threads = 2})});
  };
  const auto bytes_of = [](const Batch& batch) {
    const Tensor image = batch["image"];
    return std::string(static_cast<const char*>(image.raw()), image.bytes());
  };
  std::vector<std::string> whole;
  std::vector<Position> after;
  Loader all = make();
  for (Batch& batch : all.epoch(0)) {
    whole.push_back(bytes_of(batch));
    after.push_back(batch.position_after());
  }
  REQUIRE(whole.size() == 5);
  Loader rest = make();
  rest.seek(after[1]);  // behind four of the first volume's five patches
  std::vector<std::string> found;
  for (Batch& batch : rest.epoch(0))
    found.push_back(bytes_of(batch));
  CHECK(found == std::vector<std::string>(whole.begin() + 2, whole.end()));
}

TEST_CASE("The middle is foreground as often as was asked, its classes alike, and never ignored") {
  const auto cache = std::make_shared<BlockCache>(1 << 22);
  VolumePatchesOptions options = options_of({1, 1, 1});
  options.sampling.foreground = 0.4;
  options.sampling.most_ignored = 0.5;
  options.sampling.attempts = 50;
  const VolumePatches source({patch_case(cache)}, options);
  std::map<int, int> seen;
  constexpr int draws = 10000;
  Sample sample;
  for (int i = 0; i < draws; ++i) {
    sample.reset();
    sample.origin() = {.index = 0, .epoch = 0, .position = i};
    source.read(0, sample);
    source.resample()(sample);
    ++seen[*sample["label"].data<std::uint8_t>()];
  }
  // Of voxels that are not ignored 480 and 560 of 33,592 are of the classes.
  const double voxels = 30.0 * 34 * 38 - 4.0 * 34 * 38;
  const double one = draws * (0.2 + 0.6 * 480 / voxels);
  const double two = draws * (0.2 + 0.6 * 4 * 10 * 10 / voxels);
  CHECK(std::abs(seen[1] - one) < 160);  // four deviations
  CHECK(std::abs(seen[2] - two) < 160);
  CHECK(seen[9] == 0);
  CHECK(seen[0] + seen[1] + seen[2] == draws);
}

TEST_CASE("Uniform places cover every one alike, and what is too small is centred") {
  std::map<std::int64_t, int> seen;
  for (std::int64_t i = 0; i < 10000; ++i) {
    Random random(RandomKey{.seed = 2, .position = i});
    const auto middle = uniform_middle({1, 5, 12, 9}, {8, 4, 9}, random);
    CHECK(middle[0] == 3);  // of 8 voxels at -1 .. 6 around 0 .. 4
    CHECK(middle[2] == 4);
    ++seen[middle[1]];
  }
  REQUIRE(seen.size() == 9);
  CHECK(seen.begin()->first == 2);
  for (const auto& [place, count] : seen)
    CHECK(std::abs(count - 10000 / 9) < 140);
}

TEST_CASE("nnU-Net's rule takes the last rows of a batch, of one row none") {
  const auto rows_of = [](std::int64_t batch) {
    const PatchSampling how{
        .foreground = 0.33, .forced = PatchSampling::Forced::by_row, .batch = batch};
    std::vector<bool> rows;
    Random random(RandomKey{});
    for (std::int64_t row = 0; row < batch; ++row)
      rows.push_back(takes_foreground(how, row, random));
    return rows;
  };
  CHECK(rows_of(1) == std::vector<bool>{false});
  CHECK(rows_of(2) == std::vector<bool>{false, true});
  CHECK(rows_of(3) == std::vector<bool>{false, false, true});
  CHECK(rows_of(12) == std::vector<bool>{false, false, false, false, false, false, false, false,
                                         true, true, true, true});
}

TEST_CASE("Channels of several files come in order, with their own mean and deviation") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeCase of = patch_case(cache);
  of.images.push_back(cached(cache, DType::uint8, [](const VolumeIndex& at) { return at[3]; }));
  of.means = {10.0, 20.0};
  of.deviations = {2.0, 4.0};
  VolumePatchesOptions options = options_of({30, 34, 38});
  const VolumePatches source({of}, options);
  Sample sample;
  sample.origin() = {.index = 0, .epoch = 0, .position = 0};
  source.read(0, sample);
  source.resample()(sample);
  REQUIRE(sample["image"].shape() == Shape{2, 30, 34, 38});
  const auto* image = sample["image"].data<float>();
  for (std::int64_t i = 0; i < 30 * 34 * 38; ++i) {
    const VolumeIndex at{0, i / (34 * 38), i / 38 % 34, i % 38};
    REQUIRE(image[i] == doctest::Approx((static_cast<double>(value_at(at)) - 10.0) / 2.0));
    REQUIRE(image[30 * 34 * 38 + i] == doctest::Approx((static_cast<double>(at[3]) - 20.0) / 4.0));
  }
}

TEST_CASE("What lies outside a label is what was asked for, in a dtype that holds it") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto outside_of = [&](DType stored, std::optional<std::int64_t> ignore,
                              std::int64_t outside) {
    VolumePatchesOptions options = options_of({30, 40, 38});
    options.sampling = {.foreground = 0.0, .ignore = ignore, .most_ignored = 1.0};
    options.outside_label = outside;
    const VolumePatches source({patch_case(cache, DType::uint8, stored)}, options);
    Sample sample;
    sample.origin() = {.index = 0, .epoch = 0, .position = 0};
    source.read(0, sample);
    source.resample()(sample);
    const Tensor label = sample["label"];
    return label.dtype() == DType::uint8 ? std::int64_t{*label.data<std::uint8_t>()}
                                         : std::int64_t{*label.data<std::int16_t>()};
  };
  CHECK(outside_of(DType::uint8, {}, 7) == 7);
  CHECK(outside_of(DType::uint8, {}, -1) == -1);
  CHECK(outside_of(DType::uint8, 300, 0) == 300);
  CHECK(outside_of(DType::int16, 9, 0) == 9);
  CHECK(outside_of(DType::float32, {}, -5) == -5);
}

TEST_CASE("Labels are values, whatever other cases store") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeCase of = patch_case(cache);
  const VolumeInfo info{.shape = shape, .block = {1, 8, 8, 8}, .scale = 2.0};
  of.label = std::make_shared<const CachedVolume>(
      made<std::uint8_t>(info, [](const VolumeIndex&) { return std::int64_t{3}; }), cache);
  VolumePatchesOptions options = options_of({8, 8, 8});
  options.sampling = {.foreground = 0.0};
  const VolumePatches source({of}, options);
  Sample sample;
  sample.origin() = {.index = 0, .epoch = 0, .position = 0};
  source.read(0, sample);
  source.resample()(sample);
  CHECK(*sample["label"].data<std::int16_t>() == 6);
}

TEST_CASE("A patch of other extents than were drawn is refused") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumePatchesOptions options = options_of({8, 8, 8});
  options.transform = wild();
  const VolumePatches source({patch_case(cache)}, options);
  Sample sample;
  sample.origin() = {.index = 0, .epoch = 0, .position = 0};
  source.read(0, sample);
  ResamplePatch larger = source.resample();
  larger.patch = {64, 64, 64};
  CHECK_THROWS_WITH_AS(larger(sample), doctest::Contains("for which it was drawn"), DataError);
}

TEST_CASE("Cases that do not fit are refused by name") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto refused = [](std::vector<VolumeCase> cases, const VolumePatchesOptions& options,
                          const char* why) {
    CHECK_THROWS_WITH_AS(VolumePatches(std::move(cases), options), doctest::Contains(why),
                         ConfigError);
  };
  const VolumePatchesOptions options = options_of({8, 8, 8});
  refused({}, options, "there must be a case");
  VolumeCase of = patch_case(cache);
  of.label = cached(cache, DType::uint8, patch_label_at, {1, 30, 34, 37});
  refused({of}, options, "1 channel of 30 x 34 x 38 voxels");
  of = patch_case(cache);
  of.foreground = nullptr;
  refused({of}, options, "must have an index of its classes");
  of = patch_case(cache);
  of.images.push_back(of.images[0]);
  refused({patch_case(cache), of}, options, "must have 1 channels");
  refused({patch_case(cache)}, options_of({0, 8, 8}), "1 to 4096 voxels");
  VolumePatchesOptions odd = options_of({8, 8, 8});
  odd.outside = std::nan("");
  refused({patch_case(cache)}, odd, "outside must be finite");
  odd = options_of({8, 8, 8});
  odd.label = odd.image;
  refused({patch_case(cache)}, odd, "names of their own");
  of = patch_case(cache);
  of.deviations = {std::numeric_limits<double>::infinity()};
  refused({of}, options, "must be finite and above 0");
  VolumePatchesOptions rough = options_of({8, 8, 4096});
  rough.transform.elastic = 1.0;
  rough.transform.elastic_sigma = 1.0;
  refused({patch_case(cache)}, rough, "elastic_sigma must be larger");
}

TEST_CASE("Labels that are no whole numbers are a data error that names the file") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeCase of{.name = "case", .images = {cached(cache, DType::uint8, value_at)}};
  const VolumeInfo info{
      .shape = shape, .block = {1, 8, 8, 8}, .dtype = DType::float32, .scale = 0.5};
  of.label = std::make_shared<const CachedVolume>(
      made<float>(info, [](const VolumeIndex&) { return std::int64_t{3}; }), cache);
  VolumePatchesOptions options = options_of({8, 8, 8});
  options.sampling = {.foreground = 0.0};
  const VolumePatches source({of}, options);
  Sample sample;
  sample.origin() = {.index = 0, .epoch = 0, .position = 0};
  CHECK_THROWS_WITH_AS(source.read(0, sample),
                       doctest::Contains("made: labels must be whole numbers"), DataError);
}

}  // namespace headrace::test
