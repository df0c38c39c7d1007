#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/made_volume.h>
#include <headrace/tests/support/peak_memory.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
using test::MadeVolume;
using test::numbered;

namespace {

constexpr auto long_enough = std::chrono::seconds(60);

BlockCache::Make make_of(int value) {
  return [value](std::span<std::byte> out) {
    std::fill(out.begin(), out.end(), static_cast<std::byte>(value));
    return std::uint64_t{3};
  };
}

bool wait_for(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Two volumes with blocks of different sizes, read at random by 16 threads through one cache.
struct Crowd {
  explicit Crowd(std::size_t cap) : cache(std::make_shared<BlockCache>(cap)) {
    small = std::make_shared<MadeVolume<std::uint16_t>>(
        VolumeInfo{.shape = {2, 16, 28, 30}, .block = {1, 4, 8, 8}}, numbered<std::uint16_t>);
    large = std::make_shared<MadeVolume<float>>(
        VolumeInfo{.shape = {1, 17, 29, 31}, .block = {1, 17, 16, 8}}, numbered<float>);
    a = std::make_unique<CachedVolume>(small, cache);
    b = std::make_unique<CachedVolume>(large, cache);
  }

  template <class T>
  bool read_one(const CachedVolume& from, const MadeVolume<T>& truth, Random& random) const {
    VolumeBox box;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      box.begin[axis] = random.below(truth.info().shape[axis]);
      box.end[axis] = box.begin[axis] + 1 + random.below(truth.info().shape[axis]);
    }
    std::vector<T> voxels(static_cast<std::size_t>(voxels_of(box.shape())));
    from.read_box(
        box, BoxMemory::dense(reinterpret_cast<std::byte*>(voxels.data()), box.shape(), sizeof(T)));
    std::size_t i = 0;
    VolumeIndex at;
    for (at[0] = box.begin[0]; at[0] < box.end[0]; ++at[0])
      for (at[1] = box.begin[1]; at[1] < box.end[1]; ++at[1])
        for (at[2] = box.begin[2]; at[2] < box.end[2]; ++at[2])
          for (at[3] = box.begin[3]; at[3] < box.end[3]; ++at[3], ++i)
            if (voxels[i] != (truth.holds(at) ? truth.voxel(at) : T{})) return false;
    return true;
  }

  /// The largest sum of resident bytes that was seen.
  std::size_t run() {
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::size_t most = 0;
    std::jthread watch([&] {
      while (!done)
        most = std::max(most, cache->stats().resident_bytes);
    });
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < 16; ++t) {
      threads.emplace_back([&, t] {
        Random random(RandomKey{.seed = 5, .position = t});
        for (int i = 0; i < 60; ++i)
          if (!(i % 2 == 0 ? read_one(*a, *small, random) : read_one(*b, *large, random))) ++wrong;
      });
    }
    threads.clear();
    done = true;
    watch.join();
    CHECK(wrong == 0);
    return std::max(most, cache->stats().most_resident_bytes);
  }

  std::shared_ptr<BlockCache> cache;
  std::shared_ptr<MadeVolume<std::uint16_t>> small;
  std::shared_ptr<MadeVolume<float>> large;
  std::unique_ptr<CachedVolume> a, b;
};

}  // namespace

TEST_CASE("a block is made once and found again, and the statistics say so") {
  BlockCache cache(1000);
  CHECK_FALSE(cache.try_pin({1, 7}));
  CHECK_FALSE(cache.holds({1, 7}));
  CHECK(cache.pin({1, 7}, 100, make_of(9)).bytes()[99] == std::byte{9});
  CHECK(cache.holds({1, 7}));
  CHECK(cache.try_pin({1, 7}).bytes().size() == 100);
  CHECK(cache.pin({1, 7}, 100, make_of(8)).bytes()[0] == std::byte{9});
  cache.count_delivered(50);
  const BlockCacheStats stats = cache.stats();
  CHECK(stats.misses == 1);
  CHECK(stats.hits == 2);
  CHECK(stats.bytes_read == 3);
  CHECK(stats.bytes_decoded == 100);
  CHECK(stats.resident_bytes == 100);
  CHECK(stats.evictions == 0);
  CHECK(stats.read_amplification() == doctest::Approx(2.0));
  CHECK(stats.hit_rate() == doctest::Approx(2.0 / 3.0));
}

TEST_CASE("a full cache lets blocks go that were not used lately, and keeps pinned ones") {
  BlockCache cache(1000);
  const BlockCache::Pin kept = cache.pin({1, 0}, 400, make_of(1));
  for (int i = 1; i < 50; ++i)
    cache.pin({1, i}, 300, make_of(i));
  CHECK(cache.holds({1, 0}));
  CHECK(cache.holds({1, 49}));
  CHECK(kept.bytes()[399] == std::byte{1});
  CHECK(cache.stats().evictions == 47);
  CHECK(cache.stats().resident_bytes == 1000);
}

TEST_CASE("a block used again and again outlives those used once") {
  BlockCache cache(1000);
  int made = 0;
  for (int i = 1; i < 200; ++i) {
    cache.pin({1, 0}, 100, [&made](std::span<std::byte>) {
      ++made;
      return std::uint64_t{0};
    });
    cache.pin({1, i}, 100, make_of(i));
  }
  CHECK(made <= 3);
}

TEST_CASE("a volume that is removed leaves its memory") {
  BlockCache cache(1000);
  cache.pin({1, 0}, 400, make_of(1));
  cache.pin({2, 0}, 300, make_of(2));
  cache.remove(1);
  CHECK_FALSE(cache.holds({1, 0}));
  CHECK(cache.holds({2, 0}));
  CHECK(cache.stats().resident_bytes == 300);
}

TEST_CASE("many threads that want one block wait for the one that makes it") {
  BlockCache cache(1 << 20);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> made = 0;
    std::atomic<int> right = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
          const BlockCache::Pin pin =
              cache.pin({1, round}, 4096, [&made](std::span<std::byte> out) {
                ++made;
                std::this_thread::yield();
                std::fill(out.begin(), out.end(), std::byte{7});
                return std::uint64_t{1};
              });
          if (pin.bytes()[4095] == std::byte{7}) ++right;
        });
      }
    }
    REQUIRE(made == 1);
    REQUIRE(right == 8);
  }
}

TEST_CASE("what a maker throws reaches all who wait, and the next one makes the block anew") {
  BlockCache cache(1000);
  std::atomic<int> failures = 0;
  std::atomic<bool> go = false;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        try {
          cache.pin({1, 1}, 100, [&](std::span<std::byte>) -> std::uint64_t {
            wait_for([&] { return cache.stats().hits == 5; });
            throw std::runtime_error("no disk");
          });
        } catch (const std::runtime_error&) {
          ++failures;
        }
      });
    }
  }
  CHECK(failures == 6);
  CHECK(cache.stats().misses == 1);
  CHECK(cache.stats().resident_bytes == 0);
  CHECK(cache.pin({1, 1}, 100, make_of(4)).bytes()[0] == std::byte{4});
}

TEST_CASE("who finds everything pinned waits for a pin to end, and the cap holds") {
  BlockCache cache(1000);
  auto first = std::make_unique<BlockCache::Pin>(cache.pin({1, 0}, 600, make_of(1)));
  std::atomic<bool> there = false;
  std::jthread other([&] {
    const BlockCache::Pin pin = cache.pin({1, 1}, 700, make_of(2));
    there = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(there);
  CHECK(cache.stats().resident_bytes == 600);
  first.reset();
  other.join();
  CHECK(there);
  CHECK(cache.stats().most_resident_bytes <= 1000);
  CHECK_FALSE(cache.holds({1, 0}));
}

TEST_CASE("a large block gets room among threads that keep the cache full of small ones") {
  BlockCache cache(10'000);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i)
        cache.pin({1, t * 1000 + i % 1000}, 100, make_of(t));
    });
  }
  for (int i = 0; i < 20; ++i)
    CHECK(cache.pin({2, i}, 9900, make_of(5)).bytes().size() == 9900);
  stop = true;
  threads.clear();
  CHECK(cache.stats().most_resident_bytes <= 10'000);
}

TEST_CASE("a block larger than the cache is refused with the sum and the way out") {
  const auto volume = std::make_shared<MadeVolume<float>>(
      VolumeInfo{.shape = {1, 8, 8, 8}, .block = {1, 8, 8, 8}}, numbered<float>, "scan.tif");
  const auto cache = std::make_shared<BlockCache>(2047);
  const std::string message =
      test::message_of<ResourceError>([&] { CachedVolume reader(volume, cache); });
  CHECK(contains(message, "scan.tif"));
  CHECK(contains(message, "1 x 8 x 8 x 8"));
  CHECK(contains(message, "2048"));
  CHECK(contains(message, "2047"));
  CHECK(contains(message, "headrace pack volumes"));
  CHECK_THROWS_AS(cache->pin({1, 1}, 3000, make_of(1)), ResourceError);
}

TEST_CASE("16 threads that read random boxes get the right voxels and never pass the cap") {
  // The largest block has 8704 bytes: of the second cap it is all but a little.
  for (const std::size_t cap : {30'000, 9'000}) {
    Crowd crowd(cap);
    CHECK(crowd.run() <= cap);
    CHECK(crowd.cache->stats().evictions > 0);
  }
}

TEST_CASE("the check of the cap would see a cache that holds more") {
  Crowd crowd(80'000);
  CHECK(crowd.run() > 30'000);
}

TEST_CASE("a cache takes no more of the process than it counts, and no mapping a block") {
  constexpr std::size_t cap = std::size_t{8} << 20;
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      ++count;
    return count;
  };
  const int before = mappings();
  int most = 0;
  // Of the second list whole blocks fill a huge page.
  for (const std::vector<unsigned>& sizes :
       {std::vector<unsigned>{64, 96, 128, 160, 192, 224, 256},
        std::vector<unsigned>{64, 128, 256, 512, 1024, 2048}}) {
    const auto work = [&] {
      BlockCache cache(cap);
      for (std::size_t i = 0; i < 3000; ++i) {
        const std::size_t bytes = std::size_t{sizes[i % sizes.size()]} << 10;
        cache.pin({1, static_cast<std::int64_t>(i)}, bytes, make_of(static_cast<int>(i % 100)));
        if (i % 500 == 0) most = std::max(most, mappings());
      }
      CHECK(cache.stats().evictions > 2000);
    };
    const std::int64_t grown = test::peak_growth(work);
    INFO("grown by ", grown, " bytes, ", most - before, " mappings");
    CHECK(grown < static_cast<std::int64_t>(cap + (cap >> 3)));
    CHECK(most - before < 40);
  }
  CHECK(mappings() - before < 10);
}
