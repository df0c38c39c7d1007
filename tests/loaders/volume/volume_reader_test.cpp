#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/loaders/volume/volume_values.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/made_volume.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::MadeVolume;
using test::numbered;
using test::odd_volume;

namespace {

template <class T>
struct Reader {
  explicit Reader(const VolumeInfo& info, std::size_t cap = 1 << 20)
      : volume(std::make_shared<MadeVolume<T>>(info, numbered<T>)),
        cache(std::make_shared<BlockCache>(cap)),
        cached(volume, cache) {}

  std::vector<T> read(const VolumeBox& box, const Outside& outside = {}) const {
    std::vector<T> voxels(static_cast<std::size_t>(voxels_of(box.shape())), T(77));
    cached.read_box(
        box, BoxMemory::dense(reinterpret_cast<std::byte*>(voxels.data()), box.shape(), sizeof(T)),
        outside);
    return voxels;
  }

  /// The same voxel by voxel.
  std::vector<T> expected(const VolumeBox& box, const Outside& outside) const {
    std::vector<T> voxels;
    T fill;
    std::memcpy(&fill, outside.fill.data(), sizeof fill);
    VolumeIndex at;
    for (at[0] = box.begin[0]; at[0] < box.end[0]; ++at[0])
      for (at[1] = box.begin[1]; at[1] < box.end[1]; ++at[1])
        for (at[2] = box.begin[2]; at[2] < box.end[2]; ++at[2])
          for (at[3] = box.begin[3]; at[3] < box.end[3]; ++at[3]) {
            VolumeIndex nearest = at;
            for (std::size_t axis = 0; axis < 4; ++axis)
              nearest[axis] = std::clamp<std::int64_t>(at[axis], 0, volume->info().shape[axis] - 1);
            const bool inside = nearest == at;
            voxels.push_back(inside || outside.rule == Outside::Rule::edge ? volume->voxel(nearest)
                                                                           : fill);
          }
    return voxels;
  }

  std::shared_ptr<MadeVolume<T>> volume;
  std::shared_ptr<BlockCache> cache;
  CachedVolume cached;
};

template <class T>
Outside filled(T value) {
  Outside outside;
  std::memcpy(outside.fill.data(), &value, sizeof value);
  return outside;
}

/// Every begin and end from beyond one edge to beyond the other, a few to an axis.
template <class T>
void check_boxes(const Reader<T>& reader, const Outside& outside) {
  const VolumeIndex& shape = reader.volume->info().shape;
  int wrong = 0, boxes = 0;
  const auto places = [&](std::size_t axis) {
    const std::int64_t n = shape[axis];
    return std::vector<std::pair<std::int64_t, std::int64_t>>{
        {0, n}, {-2, 1}, {n - 1, n + 3}, {-4, n + 2}, {n / 3, n / 3 + 2}, {-5, -2}, {n + 1, n + 3}};
  };
  for (const auto& [z, z_end] : places(1))
    for (const auto& [y, y_end] : places(2))
      for (const auto& [x, x_end] : places(3))
        for (const auto& [c, c_end] :
             {std::pair<std::int64_t, std::int64_t>{0, shape[0]}, {-1, 1}}) {
          const VolumeBox box{{c, z, y, x}, {c_end, z_end, y_end, x_end}};
          ++boxes;
          if (reader.read(box, outside) != reader.expected(box, outside)) ++wrong;
        }
  CHECK(boxes == 686);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("boxes inside, across blocks and beyond every edge hold the voxels and the fill") {
  check_boxes(Reader<std::uint16_t>(odd_volume), filled<std::uint16_t>(0x1234));
  check_boxes(Reader<std::uint8_t>(odd_volume), filled<std::uint8_t>(5));
  check_boxes(Reader<float>(odd_volume), filled(-1024.0F));
  check_boxes(Reader<double>(odd_volume), filled(0.0));
}

TEST_CASE("boxes beyond every edge hold the nearest voxels where edges are replicated") {
  const Outside edge{.rule = Outside::Rule::edge};
  check_boxes(Reader<std::uint16_t>(odd_volume), edge);
  check_boxes(Reader<float>(odd_volume), edge);
}

TEST_CASE("a volume of one voxel is read inside and beyond") {
  const VolumeInfo one{.shape = {1, 1, 1, 1}, .block = {1, 1, 1, 1}};
  const VolumeInfo in_large_block{.shape = {1, 1, 1, 1}, .block = {1, 64, 64, 64}};
  for (const VolumeInfo& info : {one, in_large_block}) {
    check_boxes(Reader<std::int16_t>(info), filled<std::int16_t>(-3));
    check_boxes(Reader<std::int16_t>(info), {.rule = Outside::Rule::edge});
  }
}

TEST_CASE("a box in memory with gaps leaves the gaps alone") {
  const Reader<std::uint16_t> reader(odd_volume);
  const VolumeBox box{{0, -1, 2, -1}, {2, 4, 8, 6}};
  const std::vector<std::uint16_t> truth = reader.expected(box, {.rule = Outside::Rule::edge});
  constexpr std::int64_t row = 10, slice = 10 * 7, channel = slice * 6;
  std::vector<std::uint16_t> voxels(static_cast<std::size_t>(2 * channel), 0xabcd);
  reader.cached.read_box(
      box, {reinterpret_cast<std::byte*>(voxels.data()), 2 * channel, 2 * slice, 2 * row},
      {.rule = Outside::Rule::edge});
  std::size_t i = 0;
  int wrong = 0;
  for (std::int64_t c = 0; c < 2; ++c)
    for (std::int64_t z = 0; z < 6; ++z)
      for (std::int64_t y = 0; y < 7; ++y)
        for (std::int64_t x = 0; x < 10; ++x) {
          const bool in_box = z < 5 && y < 6 && x < 7;
          const std::uint16_t want = in_box ? truth[i++] : 0xabcd;
          if (voxels[static_cast<std::size_t>(c * channel + z * slice + y * row + x)] != want)
            ++wrong;
        }
  CHECK(i == truth.size());
  CHECK(wrong == 0);
}

TEST_CASE("only the blocks that a box touches are read") {
  const Reader<std::uint16_t> reader(odd_volume);
  reader.read({{0, 0, 0, 0}, {1, 3, 4, 5}});
  CHECK(reader.volume->reads == 1);
  reader.read({{0, 2, 3, 4}, {1, 4, 5, 6}});
  CHECK(reader.volume->reads == 8);
  reader.read({{0, 20, 3, 4}, {1, 24, 5, 6}});
  CHECK(reader.volume->reads == 8);
  const BlockCacheStats stats = reader.cache->stats();
  CHECK(stats.bytes_delivered == (60 + 8) * 2);
  CHECK(stats.bytes_decoded == 8 * 60 * 2);
}

TEST_CASE("a box is cached when nothing of it would be decoded") {
  const Reader<std::uint16_t> reader(odd_volume);
  const VolumeBox box{{0, -2, 3, 4}, {2, 4, 5, 60}};
  CHECK_FALSE(reader.cached.cached(box));
  reader.cached.prefetch(box);
  CHECK(reader.cached.cached(box));
  const int reads = reader.volume->reads;
  reader.read(box);
  CHECK(reader.volume->reads == reads);
  CHECK(reader.cached.cached({{0, 90, 0, 0}, {1, 99, 1, 1}}));  // nothing to be read
  CHECK(reader.cached.cached({{0, 0, 0, 0}, {0, 0, 0, 0}}));
}

TEST_CASE("a block that cannot be decoded ends the read, and the next one tries again") {
  const Reader<std::uint16_t> reader(odd_volume);
  reader.volume->on_read = [](const VolumeIndex& place) {
    if (place == VolumeIndex{0, 1, 1, 1}) throw DataError("[volume] made: damaged");
  };
  const VolumeBox box{{0, 0, 0, 0}, {2, 7, 9, 11}};
  CHECK_THROWS_AS(reader.read(box), DataError);
  CHECK_THROWS_AS(reader.cached.prefetch(box), DataError);
  reader.volume->on_read = {};
  CHECK(reader.read(box) == reader.expected(box, {}));
}

TEST_CASE("1, 2 and 8 threads read the same bytes") {
  std::vector<std::vector<float>> first;
  for (const int threads : {1, 2, 8}) {
    const Reader<float> reader(odd_volume, 2000);  // eight blocks of 240 bytes
    std::vector<std::vector<float>> boxes(64);
    std::vector<std::jthread> crew;
    for (int t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        for (std::size_t i = static_cast<std::size_t>(t); i < boxes.size();
             i += static_cast<std::size_t>(threads)) {
          const auto at = static_cast<std::int64_t>(i % 8);
          boxes[i] = reader.read({{0, at - 3, at - 2, at - 1}, {2, at + 4, at + 5, at + 6}},
                                 {.rule = i % 2 == 0 ? Outside::Rule::edge : Outside::Rule::fill});
        }
      });
    }
    crew.clear();
    if (first.empty()) first = boxes;
    CHECK(boxes == first);
    CHECK(reader.cache->stats().most_resident_bytes <= 2000);
  }
}

TEST_CASE("a volume takes its blocks with it when it ends") {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const auto volume = std::make_shared<MadeVolume<float>>(odd_volume, numbered<float>);
  {
    const CachedVolume one(volume, cache);
    one.prefetch({{0, 0, 0, 0}, {2, 7, 9, 11}});
    CHECK(cache->stats().resident_bytes > 0);
  }
  CHECK(cache->stats().resident_bytes == 0);
  const CachedVolume again(volume, cache);
  CHECK_FALSE(again.cached({{0, 0, 0, 0}, {1, 1, 1, 1}}));
}

TEST_CASE("stored voxels of every dtype become floats with scale and offset") {
  const auto values = [](VolumeInfo info, auto stored) {
    info.dtype = dtype_of<decltype(stored)>;
    std::byte bytes[1 + sizeof stored];
    std::memcpy(bytes + 1, &stored, sizeof stored);  // not aligned
    float value = 0.0F;
    to_float(info, std::span(bytes).subspan(1), &value);
    return value;
  };
  const VolumeInfo plain{};
  const VolumeInfo scaled{.scale = 0.5, .offset = -1024.0};
  CHECK(values(plain, std::int8_t{-100}) == -100.0F);
  CHECK(values(plain, std::uint8_t{200}) == 200.0F);
  CHECK(values(scaled, std::int16_t{-2}) == -1025.0F);
  CHECK(values(scaled, std::uint16_t{65535}) == 31743.5F);
  CHECK(values(plain, std::uint32_t{4'000'000'000}) == 4e9F);
  CHECK(values(scaled, std::int32_t{-7}) == -1027.5F);
  CHECK(values(plain, std::uint64_t{1} << 63) == 0x1p63F);
  CHECK(values(plain, std::int64_t{-1} << 40) == -0x1p40F);
  CHECK(values(plain, float16_t{0x3c00}) == 1.0F);
  CHECK(values(plain, bfloat16_t{0xc000}) == -2.0F);
  CHECK(values(scaled, 3.0F) == -1022.5F);
  CHECK(values(scaled, 2e300) == std::numeric_limits<float>::infinity());
  CHECK(values(plain, true) == 1.0F);
  // Rounded once: 16777217 is no float, half of it and 1024 less is one.
  CHECK(values(scaled, std::int32_t{16'777'217}) == 8387584.5F);
}
