#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/zarr_volume.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/volume_stores.h>
#include <headrace/tests/support/temporary_folder.h>

#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// What zarr-python wrote, and where.
struct Stores {
  TemporaryFolder folder;
  std::vector<StoredVolume> volumes = unpack_stores("zarr", folder.path());
};

const Stores& stores() {
  static const Stores all;
  return all;
}

double zarr_fill(const std::string& path) {
  const std::map<std::string, double> fills{
      {"v2_missing", 7}, {"v3_missing", 513}, {"v3_missing_half", -1.5}, {"v3_shards_missing", 9}};
  const auto found = fills.find(path);
  return found == fills.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

bool is_blosc(const std::string& path) {
  return path.find("blosc") != std::string::npos || path.find("v2_type") == 0 || path == "ome_4";
}

}  // namespace

TEST_CASE("what zarr-python writes is read voxel by voxel, whatever the codec") {
  CHECK(stores().volumes.size() > 80);
  for (const StoredVolume& stored : stores().volumes) {
    CAPTURE(stored.path);
    if (!has_blosc && is_blosc(stored.path)) continue;
    const auto volume = open_zarr_volume(stores().folder / stored.path);
    check_volume_values(*volume, stored, zarr_fill(stored.path));
  }
}

TEST_CASE("an image of OME-Zarr has the spacing and the origin of its finest scale") {
  for (const char* image : {"ome_4", "ome_5"}) {
    CAPTURE(image);
    const auto volume = open_zarr_volume(stores().folder / image);
    const std::array<double, 3> spacing{2.0, 0.5, 0.25};
    for (std::size_t axis = 0; axis < 3; ++axis)
      CHECK(volume->info().spacing[axis] == doctest::Approx(spacing[axis]));
    const std::array<double, 12> affine{0.25, 0, 0, 0.03, 0, 0.5, 0, 0.02, 0, 0, 2, 0.01};
    for (std::size_t i = 0; i < 12; ++i)
      CHECK(volume->info().affine[i] == doctest::Approx(affine[i]));
  }
}

TEST_CASE("folders are Zarr by their metadata") {
  CHECK(is_zarr(stores().folder / "v2_plain"));
  CHECK(is_zarr(stores().folder / "v3_plain"));
  CHECK(is_zarr(stores().folder / "ome_4"));
  CHECK_FALSE(is_zarr(stores().folder.path()));
  CHECK_FALSE(is_zarr(stores().folder / "nothing"));
  CHECK_THROWS_AS(open_zarr_volume(stores().folder / "nothing"), ConfigError);
  CHECK(open_volume(stores().folder / "ome_5")->info().spacing[0] == doctest::Approx(2.0));
}

TEST_CASE("a block costs the bytes of its chunk, and a shard's index is read once") {
  const auto plain = open_zarr_volume(stores().folder / "v2_plain");
  std::vector<std::byte> block(plain->info().block_bytes());
  CHECK(plain->read_block({0, 0, 1, 1}, block) == 240);
  CHECK(plain->resident_bytes() == 8 * 64);  // what is known of its files
  const auto missing = open_zarr_volume(stores().folder / "v2_missing");
  CHECK(missing->read_block({0, 0, 1, 0}, block) == 0);

  const auto shards = open_zarr_volume(stores().folder / "v3_shards_start");
  block.resize(shards->info().block_bytes());
  const std::uint64_t first = shards->read_block({0, 0, 0, 0}, block);
  CHECK(first > 12 * 16 + 4);
  CHECK(shards->read_block({0, 0, 0, 0}, block) == first - (12 * 16 + 4));
  CHECK(shards->resident_bytes() > 0);
}

TEST_CASE("threads read the same volume at once") {
  const auto volume = open_zarr_volume(stores().folder / "v3_shards_end");
  const WholeVolume expected(*volume);
  const auto fresh = open_zarr_volume(stores().folder / "v3_shards_end");
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (int& mine : right) {
    threads.emplace_back([&] {
      const WholeVolume whole(*fresh);
      mine = whole.at(0, 6, 8, 9) == expected.at(0, 6, 8, 9) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == std::vector<int>(4, 1));
}
