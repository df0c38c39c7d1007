// A cache of blocks that was made before a fork: each process has blocks of its own.
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/array/kept_indexes.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/tests/loaders/volume/made_volume.h>
#include <headrace/tests/support/forked_child.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// Voxels of a volume, read through a cache, that are not the volume's.
struct ForkedVolume {
  explicit ForkedVolume(std::size_t cap) : cache(std::make_shared<BlockCache>(cap)) {}

  std::int64_t wrong() const {
    const VolumeIndex shape = made->info().shape;
    const VolumeBox box{{}, shape};
    std::vector<std::uint16_t> voxels(static_cast<std::size_t>(voxels_of(shape)));
    cached.read_box(box, BoxMemory::dense(reinterpret_cast<std::byte*>(voxels.data()), shape, 2));
    std::int64_t wrong = 0;
    std::size_t i = 0;
    VolumeIndex at;
    for (at[0] = 0; at[0] < shape[0]; ++at[0])
      for (at[1] = 0; at[1] < shape[1]; ++at[1])
        for (at[2] = 0; at[2] < shape[2]; ++at[2])
          for (at[3] = 0; at[3] < shape[3]; ++at[3])
            wrong += voxels[i++] == made->voxel(at) ? 0 : 1;
    return wrong;
  }

  std::shared_ptr<MadeVolume<std::uint16_t>> made =
      std::make_shared<MadeVolume<std::uint16_t>>(odd_volume, numbered<std::uint16_t>);
  std::shared_ptr<BlockCache> cache;
  CachedVolume cached{made, cache};
};

}  // namespace

TEST_CASE("a cache of blocks that threads are at when the process forks hangs no child" *
          doctest::skip(cannot_fork_at_work)) {
  for (const std::size_t cap : {std::size_t{400}, std::size_t{1} << 20}) {
    CAPTURE(cap);
    const ForkedVolume volume(cap);
    std::atomic<bool> over{false};
    std::atomic<std::int64_t> wrong{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
      readers.emplace_back([&] {
        while (!over)
          wrong += volume.wrong();
      });
    for (int i = 0; i < 20; ++i)
      CHECK(in_a_child([&] { return std::to_string(volume.wrong()); }) == "0");
    over = true;
    for (std::thread& reader : readers)
      reader.join();
    CHECK(wrong == 0);
    CHECK(volume.wrong() == 0);
  }
}

TEST_CASE("a block that is in the making when the process forks is made anew in the child" *
          doctest::skip(cannot_fork)) {
  BlockCache cache(1000);
  const BlockKey key{1, 2};
  std::string said;
  const BlockCache::Pin made = cache.pin(key, 10, [&](std::span<std::byte> out) {
    said = in_a_child([&] {
      const auto again = cache.pin(key, 10, [](std::span<std::byte> inner) {
        std::fill(inner.begin(), inner.end(), std::byte{7});
        return std::uint64_t{10};
      });
      const BlockCacheStats stats = cache.stats();
      return std::to_string(static_cast<int>(again.bytes()[9])) + ", " +
             std::to_string(stats.resident_bytes) + " bytes, " + std::to_string(stats.misses) +
             " made";
    });
    std::fill(out.begin(), out.end(), std::byte{5});
    return std::uint64_t{10};
  });
  CHECK(said == "7, 10 bytes, 1 made");
  CHECK(made.bytes()[9] == std::byte{5});
}

TEST_CASE("indexes that are kept are a process's own" * doctest::skip(cannot_fork_at_work)) {
  detail::KeptIndexes kept(1 << 20);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    for (std::uint64_t part = 0; !over; ++part)
      kept.get(part % 100, [] { return detail::KeptIndexes::Index(100, 3); });
  });
  for (int i = 0; i < 20; ++i)
    CHECK(in_a_child([&] {
            std::uint64_t sum = 0;
            for (std::uint64_t part = 0; part < 200; ++part)
              sum += (*kept.get(part, [] { return detail::KeptIndexes::Index(100, 3); }))[99];
            return std::to_string(sum);
          }) == "600");
  over = true;
  reader.join();
}
