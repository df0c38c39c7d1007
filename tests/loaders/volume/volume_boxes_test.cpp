// Boxes of volumes at named places: their voxels as a network sees them, in order.
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/volume/volume_boxes.h>
#include <headrace/loaders/volume/volume_patches.h>

#include "made_volume.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using Boxes = std::vector<PlacedBox>;

std::int64_t number_at(const VolumeIndex& at) {
  return (at[0] * 50 + at[1] * 7 + at[2] * 3 + at[3]) % 200;
}

std::int64_t box_label_at(const VolumeIndex& at) {
  return (at[1] + at[2] + at[3]) % 4;
}

constexpr VolumeInfo box_info{.shape = {1, 20, 18, 22}, .block = {1, 8, 8, 8}};

template <class T>
std::shared_ptr<const CachedVolume> cached(const std::shared_ptr<BlockCache>& cache,
                                           const VolumeInfo& of = box_info,
                                           std::int64_t (*number)(const VolumeIndex&) = number_at) {
  const auto volume = std::make_shared<const MadeVolume<T>>(
      of, [number](const VolumeIndex& at) { return static_cast<T>(number(at)); });
  return std::make_shared<const CachedVolume>(volume, cache);
}

/// Of one channel and labels, uint8.
VolumeCase box_case(const std::shared_ptr<BlockCache>& cache, const std::string& name = "case") {
  return {.name = name,
          .images = {cached<std::uint8_t>(cache)},
          .label = cached<std::uint8_t>(cache, box_info, box_label_at)};
}

/// Begins at these places and has `extent` voxels: the voxels, `outside` beyond.
template <class Number>
std::vector<float> expected(const PlacedBox& placed, const std::array<std::int64_t, 3>& extent,
                            std::int64_t channels, float outside, const Number& number) {
  std::vector<float> values;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t z = placed.begin[0]; z < placed.begin[0] + extent[0]; ++z)
      for (std::int64_t y = placed.begin[1]; y < placed.begin[1] + extent[1]; ++y)
        for (std::int64_t x = placed.begin[2]; x < placed.begin[2] + extent[2]; ++x) {
          const bool inside = z >= 0 && z < box_info.shape[1] && y >= 0 && y < box_info.shape[2] &&
                              x >= 0 && x < box_info.shape[3];
          values.push_back(inside ? static_cast<float>(number(VolumeIndex{c, z, y, x})) : outside);
        }
  return values;
}

std::vector<float> image_of(const VolumeBoxes& source, std::int64_t index) {
  Sample sample;
  source.read(index, sample);
  const Tensor image = sample["image"];
  CHECK(image.shape() == source.fields().at("image", "test").shape);
  return {image.data<float>(), image.data<float>() + image.shape().elements()};
}

/// Inside, across blocks, beyond every edge and wholly outside.
const Boxes places{{0, {3, 4, 5}},    {0, {-2, -3, -4}}, {0, {16, 15, 17}},
                   {0, {-1, 12, 20}}, {0, {0, 0, 0}},    {0, {40, 2, 2}}};
constexpr std::array<std::int64_t, 3> extent{9, 5, 7};

template <class T>
void check_stored_as() {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  for (const double scale : {1.0, 0.25}) {
    VolumeInfo of = box_info;
    of.scale = scale;
    of.offset = scale == 1.0 ? 0.0 : -8.0;
    for (const bool normalised : {false, true}) {
      VolumeCase single{.name = "case", .images = {cached<T>(cache, of)}};
      if (normalised) {
        single.means = {10.0};
        single.deviations = {2.0};
      }
      const VolumeBoxes source({single}, places, {.extent = extent, .outside = -7.5});
      for (std::size_t i = 0; i < places.size(); ++i) {
        const auto wanted = expected(places[i], extent, 1, -7.5F, [&](const VolumeIndex& at) {
          const double value = static_cast<double>(number_at(at)) * of.scale + of.offset;
          return normalised ? (value - 10.0) / 2.0 : value;
        });
        CHECK(image_of(source, static_cast<std::int64_t>(i)) == wanted);
      }
    }
  }
}

struct Epochs {
  std::vector<float> image{};
  std::vector<std::uint8_t> label{};
  std::vector<std::int64_t> rows{};
  friend bool operator==(const Epochs&, const Epochs&) = default;
};

Epochs epochs_of(const std::shared_ptr<const Source>& source, int threads) {
  Loader loader = Pipeline::from(source)
                      .order(Sequential{})
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = threads})});
  Epochs out;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      const Tensor image = batch["image"];
      const Tensor label = batch["label"];
      out.rows.push_back(batch.size());
      out.image.insert(out.image.end(), image.data<float>(),
                       image.data<float>() + image.shape().elements());
      out.label.insert(out.label.end(), label.data<std::uint8_t>(),
                       label.data<std::uint8_t>() + label.shape().elements());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("boxes hold values of every stored type, scaled and normalised, and what is outside") {
  check_stored_as<std::uint8_t>();
  check_stored_as<std::int16_t>();
  check_stored_as<std::uint16_t>();
  check_stored_as<std::int32_t>();
  check_stored_as<float>();
  check_stored_as<double>();
}

TEST_CASE("channels of one volume and of several come in order, each with its own numbers") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeInfo two = box_info;
  two.shape[0] = 2;
  two.block[0] = 2;
  const VolumeCase of{.name = "case",
                      .images = {cached<std::int16_t>(cache, two), cached<float>(cache)},
                      .means = {1.0, 2.0, 3.0},
                      .deviations = {1.0, 4.0, 2.0}};
  const VolumeBoxes source({of}, places, {.extent = extent});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto wanted = expected(places[i], extent, 3, 0.0F, [&](const VolumeIndex& at) {
      const auto c = static_cast<std::size_t>(at[0]);
      const VolumeIndex in_volume{c == 1 ? 1 : 0, at[1], at[2], at[3]};
      return (static_cast<double>(number_at(in_volume)) - of.means[c]) / of.deviations[c];
    });
    CHECK(image_of(source, static_cast<std::int64_t>(i)) == wanted);
  }
}

TEST_CASE("a box is to the bit the patch that is cut there") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeInfo scaled = box_info;
  scaled.scale = 0.0371;
  scaled.offset = -1.73;
  const VolumeCase of{.name = "case",
                      .images = {cached<std::int16_t>(cache, scaled)},
                      .means = {0.377},
                      .deviations = {1.91}};
  const std::array<std::int64_t, 3> whole{20, 18, 22};
  VolumePatchesOptions options;
  options.patch = whole;
  options.with_labels = false;
  options.sampling.foreground = 0.0;
  const VolumePatches patches({of}, options);
  Sample sample;
  sample.origin() = {.index = 0, .epoch = 0, .position = 0};
  patches.read(0, sample);
  patches.resample()(sample);
  const VolumeBoxes source({of}, {{0, {0, 0, 0}}}, {.extent = whole});
  const std::vector<float> box = image_of(source, 0);
  CHECK(std::memcmp(box.data(), sample["image"].data<float>(), box.size() * sizeof(float)) == 0);
}

TEST_CASE("labels are bytes where all are stored so, else int16, and what was asked for outside") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto labels_of = [&](const std::shared_ptr<const CachedVolume>& label,
                             std::int64_t outside) {
    VolumeCase of = box_case(cache);
    of.label = label;
    const VolumeBoxes source({of}, places, {.extent = extent, .outside_label = outside});
    for (std::size_t i = 0; i < places.size(); ++i) {
      Sample sample;
      source.read(static_cast<std::int64_t>(i), sample);
      const Tensor got = sample["label"];
      CHECK(got.dtype() == source.fields().at("label", "test").dtype);
      std::vector<float> values;
      for (std::int64_t k = 0; k < got.shape().elements(); ++k)
        values.push_back(got.dtype() == DType::uint8 ? got.data<std::uint8_t>()[k]
                                                     : got.data<std::int16_t>()[k]);
      CHECK(values == expected(places[i], extent, 1, static_cast<float>(outside), box_label_at));
    }
    return source.fields().at("label", "test").dtype;
  };
  CHECK(labels_of(cached<std::uint8_t>(cache, box_info, box_label_at), 255) == DType::uint8);
  CHECK(labels_of(cached<std::uint8_t>(cache, box_info, box_label_at), -1) == DType::int16);
  CHECK(labels_of(cached<std::int16_t>(cache, box_info, box_label_at), 0) == DType::int16);
  CHECK(labels_of(cached<float>(cache, box_info, box_label_at), 300) == DType::int16);
}

TEST_CASE("what is no label is an error that names the volume") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeInfo halves = box_info;
  halves.scale = 0.5;
  VolumeCase of = box_case(cache);
  of.label = cached<std::uint8_t>(cache, halves, box_label_at);
  const VolumeBoxes source({of}, places, {.extent = extent});
  Sample sample;
  CHECK_THROWS_WITH_AS(source.read(0, sample),
                       doctest::Contains("made: labels must be whole numbers"), DataError);
}

TEST_CASE("boxes come in their order, the same bytes for 1, 2 and 8 threads") {
  const auto cache = std::make_shared<BlockCache>(20 * 512);  // a fraction of the blocks
  Boxes boxes;
  for (std::int64_t volume : {0, 1})
    for (std::int64_t z : {-1, 6, 13})
      for (std::int64_t y : {0, 9})
        for (std::int64_t x : {2, 8, 15})
          boxes.push_back({volume, {z, y, x}});
  boxes.pop_back();
  const auto source = std::make_shared<const VolumeBoxes>(
      std::vector<VolumeCase>{box_case(cache, "one"), box_case(cache, "two")}, boxes,
      VolumeBoxesOptions{.extent = extent, .outside = -1.0});
  const Epochs one = epochs_of(source, 1);
  CHECK(one.rows.size() == 18);
  CHECK(one.rows[8] == 3);
  std::vector<float> wanted;
  for (const PlacedBox& placed : boxes) {
    const auto values = expected(placed, extent, 1, -1.0F, number_at);
    wanted.insert(wanted.end(), values.begin(), values.end());
  }
  CHECK(std::equal(wanted.begin(), wanted.end(), one.image.begin()));
  for (const int threads : {2, 8})
    CHECK(epochs_of(source, threads) == one);
  CHECK(cache->stats().most_resident_bytes <= 20 * 512);
  CHECK(source->origin(1) == "one, window at -1 0 8");
  CHECK(source->origin(34) == "two, window at 13 9 8");
}

TEST_CASE("a block that several boxes share is decoded once, and then nothing waits") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto image = std::make_shared<MadeVolume<std::uint8_t>>(
      box_info, [](const VolumeIndex& at) { return static_cast<std::uint8_t>(number_at(at)); });
  VolumeCase of{.name = "case", .images = {std::make_shared<const CachedVolume>(image, cache)}};
  Boxes boxes;
  for (std::int64_t z : {0, 4, 11})
    for (std::int64_t x : {0, 5, 10, 15})
      boxes.push_back({0, {z, 9, x}});
  const VolumeBoxes source({of}, boxes, {.extent = extent});
  Sample sample;
  CHECK_FALSE(source.read_now(0, sample));
  CHECK(image->reads == 0);
  for (std::int64_t i = 0; i < source.size(); ++i) {
    Sample fresh;
    source.read(i, fresh);
  }
  CHECK(image->reads == 3 * 3);  // one row of blocks along y
  CHECK(source.read_now(7, sample));
  CHECK(image->reads == 3 * 3);
}

TEST_CASE("the boxes that come next are read while the first ones wait for their disk") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto image = std::make_shared<MadeVolume<std::uint8_t>>(
      box_info, [](const VolumeIndex& at) { return static_cast<std::uint8_t>(number_at(at)); });
  std::latch four(4);  // boxes, each waiting for its block, of which no two are the same
  std::atomic<int> waiting{0};
  std::atomic<bool> met{true};
  image->on_read = [&](const VolumeIndex&) {
    if (waiting++ >= 4) return;
    four.count_down();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (met && !four.try_wait()) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() > end) met = false;
    }
  };
  VolumeCase of{.name = "case", .images = {std::make_shared<const CachedVolume>(image, cache)}};
  Boxes boxes;  // more than are ahead, or those of the next epoch would wait for these
  for (std::int64_t z : {0, 8, 16})
    for (std::int64_t y : {0, 8})
      for (std::int64_t x : {0, 8, 16})
        boxes.push_back({0, {z, y, x}});
  const auto source = std::make_shared<const VolumeBoxes>(std::vector<VolumeCase>{of}, boxes,
                                                          VolumeBoxesOptions{.extent = {4, 4, 4}});
  Loader loader = Pipeline::from(std::shared_ptr<const Source>(source))
                      .order(Sequential{})
                      .batch({.size = 1})
                      .build({.runtime = Runtime({.threads = 1})});
  std::int64_t rows = 0;
  for (Batch& batch : loader.epoch(0))
    rows += batch.size();
  CHECK(rows == source->size());
  CHECK(met);
}

TEST_CASE("cases and boxes that do not fit are refused by name") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto refused = [](std::vector<VolumeCase> cases, Boxes boxes,
                          const VolumeBoxesOptions& options, const char* why) {
    CHECK_THROWS_WITH_AS(VolumeBoxes(std::move(cases), std::move(boxes), options),
                         doctest::Contains(why), ConfigError);
  };
  const VolumeCase of = box_case(cache);
  refused({}, places, {}, "[volume boxes] there must be a case");
  refused({of}, {}, {}, "there must be a box");
  refused({of}, {{1, {0, 0, 0}}}, {}, "a case from 0 to 0, got 1");
  refused({of}, {{-1, {0, 0, 0}}}, {}, "got -1");
  refused({of}, {{0, {0, std::int64_t{1} << 62, 0}}}, {}, "within 2^40");
  refused({of}, places, {.extent = {0, 1, 1}}, "1 to 4096 voxels");
  refused({of}, places, {.outside = std::nan("")}, "outside must be finite");
  refused({of}, places, {.outside_label = 40000}, "from -32768 to 32767, got 40000");
  refused({of}, places, {.label = "image"}, "names of their own");
  VolumeCase bare = box_case(cache, "bare");
  bare.label = nullptr;
  refused({of, bare}, places, {}, "case bare must have a label, got none");
  CHECK(VolumeBoxes({of, bare}, places, {.with_labels = false}).fields().size() == 1);
  CHECK(VolumeBoxes({bare}, places, {.extent = extent}).fields().size() == 1);
}

}  // namespace headrace::test
