#include <headrace/augment/volume/detail/content_hash.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/augment/volume/label_cache.h>
#include <headrace/augment/volume/skeleton.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;

namespace {

const Shape label_shape{6, 7, 8};

Bytes label_of(unsigned seed) {
  Bytes label;
  for (float v : test::noise_floats(6 * 7 * 8, seed))
    label.push_back(static_cast<std::uint8_t>(v > 1));
  return label;
}

template <class Op>
Sample made(const Op& op, const Bytes& label) {
  Sample sample = test::sample_with("label", label, label_shape);
  op(sample);
  return sample;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  return files;
}

std::uint64_t bytes_in(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : files_in(folder))
    bytes += std::filesystem::file_size(file);
  return bytes;
}

}  // namespace

TEST_CASE("a cached operation makes what the operation makes, and makes it once") {
  const test::TemporaryFolder folder;
  const auto cache = std::make_shared<const LabelCache>(LabelCacheOptions{folder.path()});
  const CachedLabels<DistanceTransform> distances{.cache = cache};
  const CachedLabels<Skeleton> skeletons{.cache = cache};
  for (int pass = 0; pass < 2; ++pass) {
    const Bytes label = label_of(1);
    CHECK(test::values_of<float>(made(distances, label), "distance") ==
          test::values_of<float>(made(DistanceTransform{}, label), "distance"));
    CHECK(test::values_of<std::uint8_t>(made(skeletons, label), "skeleton") ==
          test::values_of<std::uint8_t>(made(Skeleton{}, label), "skeleton"));
    CHECK(cache->misses() == 2);
    CHECK(cache->hits() == static_cast<std::uint64_t>(2 * pass));
  }
  CHECK(files_in(folder.path()).size() == 2);
  const Schema in{FieldSpec::fixed("label", DType::uint8, label_shape)};
  CHECK(distances.schema(in) == DistanceTransform{}.schema(in));
  CHECK_THROWS_AS(CachedLabels<DistanceTransform>{}.schema(in), ConfigError);
  CHECK(distances.name() == "distance transform");
}

TEST_CASE("another label, parameter, dtype or shape is another result") {
  const test::TemporaryFolder folder;
  const auto cache = std::make_shared<const LabelCache>(LabelCacheOptions{folder.path()});
  const auto made_by = [&](const DistanceTransform& op) {
    made(CachedLabels<DistanceTransform>{op, cache}, label_of(1));
  };
  made_by({});
  made_by({.labels = {1}});
  made_by({.ignore = 1});
  made_by({.spacing = {1, 1, 1.0000001}});
  made_by({.most = 3});
  made(CachedLabels<DistanceTransform>{{}, cache}, label_of(2));
  Sample other = test::sample_with("label", label_of(1), Shape{6, 8, 7});
  CachedLabels<DistanceTransform>{{}, cache}(other);
  const auto made_skeleton = [&](const Skeleton& op) {
    made(CachedLabels<Skeleton>{op, cache}, label_of(1));
  };
  made_skeleton({});
  made_skeleton({.grow = 1});
  made_skeleton({.keep_labels = true});
  made_skeleton({.slices = true});
  CHECK(cache->hits() == 0);
  CHECK(cache->misses() == 11);
  made_by({.to = "other name"});
  CHECK(cache->hits() == 1);
}

TEST_CASE("a damaged file counts as none and is made again") {
  const test::TemporaryFolder folder;
  const auto cache = std::make_shared<const LabelCache>(LabelCacheOptions{folder.path()});
  const CachedLabels<DistanceTransform> op{.cache = cache};
  const auto expected = test::values_of<float>(made(op, label_of(1)), "distance");
  const auto file = files_in(folder.path()).at(0);
  const auto size = std::filesystem::file_size(file);
  for (std::uint64_t at = 0; at < size; at += 7) {
    {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(at));
      const int byte = stream.get();
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put(static_cast<char>(byte ^ 16));
    }
    const auto misses = cache->misses();
    REQUIRE(test::values_of<float>(made(op, label_of(1)), "distance") == expected);
    REQUIRE(cache->misses() == misses + 1);
  }
  std::filesystem::resize_file(file, size / 2);
  CHECK(test::values_of<float>(made(op, label_of(1)), "distance") == expected);
  CHECK(cache->hits() == 0);
}

TEST_CASE("the folder stays within its bytes, and what was used last stays") {
  const test::TemporaryFolder folder;
  {
    const LabelCache first({folder.path()});
    first.put("probe", Tensor::zeros(DType::uint8, label_shape),
              Tensor::zeros(DType::uint8, label_shape));
  }
  const std::uint64_t one = bytes_in(folder.path());
  const auto cache = std::make_shared<const LabelCache>(LabelCacheOptions{folder.path(), 40 * one});
  const CachedLabels<Skeleton> op{.cache = cache};
  for (unsigned seed = 0; seed < 60; ++seed) {
    made(op, label_of(seed));
    made(op, label_of(0));
    REQUIRE(bytes_in(folder.path()) <= 40 * one);
  }
  CHECK(files_in(folder.path()).size() > 5);
  CHECK(cache->hits() == 60);
  const LabelCache tiny({folder.path(), 10});
  tiny.put("probe", Tensor::zeros(DType::uint8, label_shape),
           Tensor::zeros(DType::uint8, label_shape));
  CHECK(files_in(folder.path()).size() > 5);
}

TEST_CASE("8 threads may use one cache at once") {
  const test::TemporaryFolder folder;
  const auto cache = std::make_shared<const LabelCache>(LabelCacheOptions{folder.path()});
  const CachedLabels<Skeleton> op{.cache = cache};
  std::vector<std::jthread> threads;
  std::array<bool, 8> good{};
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      good[t] = true;
      for (unsigned seed = 0; seed < 8; ++seed) {
        const auto found = test::values_of<std::uint8_t>(made(op, label_of(seed)), "skeleton");
        good[t] = good[t] && found == test::values_of<std::uint8_t>(
                                          made(Skeleton{}, label_of(seed)), "skeleton");
      }
    });
  }
  threads.clear();
  CHECK(std::ranges::all_of(good, [](bool g) { return g; }));
  CHECK(files_in(folder.path()).size() == 8);
}

TEST_CASE("a cache that cannot write keeps nothing, and one that cannot be is refused") {
  const test::TemporaryFolder folder;
  const auto cache = std::make_shared<const LabelCache>(LabelCacheOptions{folder.path() / "a"});
  std::filesystem::remove_all(folder.path() / "a");
  const CachedLabels<Skeleton> op{.cache = cache};
  CHECK(test::values_of<std::uint8_t>(made(op, label_of(1)), "skeleton") ==
        test::values_of<std::uint8_t>(made(Skeleton{}, label_of(1)), "skeleton"));
  std::ofstream(folder.path() / "file") << "x";
  CHECK_THROWS_AS(LabelCache({folder.path() / "file"}), ConfigError);
  CHECK_THROWS_AS(LabelCache({.folder = folder.path(), .level = 0}), ConfigError);
}

TEST_CASE("hashes tell apart what differs in one bit or in its length") {
  std::vector<std::byte> bytes(40);
  std::set<std::string> seen = {detail::to_hex(detail::hash_content(bytes))};
  for (std::size_t bit = 0; bit < 320; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    seen.insert(detail::to_hex(detail::hash_content(bytes)));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  for (std::size_t length = 0; length < 40; ++length)
    seen.insert(detail::to_hex(detail::hash_content(std::span(bytes).first(length))));
  CHECK(seen.size() == 361);
}
