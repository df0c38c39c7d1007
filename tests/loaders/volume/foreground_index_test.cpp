#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/foreground_index.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/made_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
using test::MadeVolume;
namespace fs = std::filesystem;

namespace {

constexpr VolumeInfo head{.shape = {1, 40, 70, 90}, .block = {1, 20, 70, 90}};

/// A ball of label 1 with a core of 2, a single voxel of 3, a corner of 255 that is to be ignored.
int label_at(const VolumeIndex& at) {
  const auto square = [](std::int64_t x) { return x * x; };
  if (at == VolumeIndex{0, 39, 0, 89}) return 3;
  if (at[1] < 3 && at[2] < 9) return 255;
  const std::int64_t far = square(at[1] - 20) + square(at[2] - 33) + square(at[3] - 50);
  return far < 9 ? 2 : far < 100 ? 1 : 0;
}

template <class T>
struct Labels {
  explicit Labels(const VolumeInfo& info = head,
                  std::function<int(const VolumeIndex&)> label = label_at)
      : volume(std::make_shared<MadeVolume<T>>(
            info, [label](const VolumeIndex& at) { return static_cast<T>(label(at)); })),
        cached(volume, std::make_shared<BlockCache>(std::size_t{64} << 20)) {}

  std::map<int, std::vector<VolumeIndex>> voxels() const {
    std::map<int, std::vector<VolumeIndex>> all;
    VolumeIndex at;
    const VolumeIndex& shape = volume->info().shape;
    for (at[0] = 0; at[0] < shape[0]; ++at[0])
      for (at[1] = 0; at[1] < shape[1]; ++at[1])
        for (at[2] = 0; at[2] < shape[2]; ++at[2])
          for (at[3] = 0; at[3] < shape[3]; ++at[3])
            all[static_cast<int>(volume->voxel(at))].push_back(at);
    return all;
  }

  std::shared_ptr<MadeVolume<T>> volume;
  CachedVolume cached;
};

std::string refusal(const Labels<std::int16_t>& labels, const ForegroundOptions& options = {}) {
  return test::message_of<DataError>([&] { ForegroundIndex index(labels.cached, options); });
}

}  // namespace

TEST_CASE("labels are counted, and their bounds found, with any number of threads and dtype") {
  const auto check = [](const auto& labels, int threads) {
    const auto truth = labels.voxels();
    const ForegroundIndex index(labels.cached, {.ignore = 255, .threads = threads});
    CHECK(index.classes() == std::vector<std::int64_t>{1, 2, 3});
    for (const int label : {1, 2, 3})
      CHECK(index.count(label) == truth.at(label).size());
    CHECK(index.count(0) == 0);
    CHECK(index.count(255) == 0);
    CHECK(index.bounds() == VolumeBox{{0, 11, 0, 41}, {1, 40, 43, 90}});
  };
  check(Labels<std::uint8_t>(), 1);
  check(Labels<std::uint8_t>(), 8);
  check(Labels<std::int64_t>(), 2);
  check(Labels<float>(), 2);
}

TEST_CASE("only the labels that are asked for are foreground") {
  const Labels<std::uint8_t> labels;
  const ForegroundIndex index(labels.cached, {.labels = {2, 0, 9}});
  CHECK(index.classes() == std::vector<std::int64_t>{0, 2});
  CHECK(index.count(0) == labels.voxels().at(0).size());
}

TEST_CASE("each voxel of a label is picked equally often, and none that is ignored") {
  const Labels<std::uint8_t> labels;
  const ForegroundIndex index(labels.cached, {.ignore = 255});
  const auto truth = labels.voxels();
  constexpr int draws = 60'000;
  for (const int label : {2, 1}) {
    std::map<VolumeIndex, int> seen;
    int wrong = 0;
    Random random(RandomKey{.seed = 3, .operation = static_cast<std::uint32_t>(label)});
    for (int i = 0; i < draws; ++i) {
      const VolumeIndex at = index.pick_voxel(labels.cached, label, random);
      if (labels.volume->voxel(at) != label) ++wrong;
      ++seen[at];
    }
    CHECK(wrong == 0);
    const std::size_t voxels = truth.at(label).size();
    CHECK(seen.size() == voxels);  // label 1 has about 4,000, drawn 15 times each
    const double expected = double{draws} / static_cast<double>(voxels);
    double chi_square = 0.0;
    for (const VolumeIndex& at : truth.at(label))
      chi_square += (seen[at] - expected) * (seen[at] - expected) / expected;
    const auto freedom = static_cast<double>(voxels - 1);
    CHECK(std::abs(chi_square - freedom) < 4.0 * std::sqrt(2.0 * freedom));
  }
}

TEST_CASE("cells are picked by their share of a label") {
  // Two cells along x: 64 voxels of 1 in the first row of one, 16 in the other.
  const Labels<std::uint8_t> labels({.shape = {1, 8, 8, 128}, .block = {1, 8, 8, 64}},
                                    [](const VolumeIndex& at) {
                                      if (at[1] != 0 || at[2] != 0) return 0;
                                      return at[3] < 64 || at[3] >= 112 ? 1 : 0;
                                    });
  const ForegroundIndex index(labels.cached);
  REQUIRE(index.count(1) == 80);
  std::map<std::int64_t, int> seen;
  Random random(RandomKey{.seed = 1});
  for (int i = 0; i < 10'000; ++i)
    ++seen[index.pick(1, random)];
  REQUIRE(seen.size() == 2);
  CHECK(std::abs(seen.begin()->second - 8000) < 4 * 40);
  CHECK(index.cell_box(seen.begin()->first).begin[3] == 0);
  CHECK(index.cell_box(seen.rbegin()->first).begin[3] == 64);
}

TEST_CASE("a voxel is found by reading one block, whatever blocks a volume has") {
  for (const VolumeIndex& block :
       {VolumeIndex{1, 1, 70, 90}, VolumeIndex{1, 40, 70, 90}, VolumeIndex{1, 1, 1, 90},
        VolumeIndex{1, 8, 8, 8}, VolumeIndex{1, 64, 64, 64}, VolumeIndex{1, 1, 1, 1}}) {
    VolumeInfo info = head;
    info.block = block;
    const Labels<std::uint8_t> labels(info);
    const ForegroundIndex index(labels.cached, {.ignore = 255, .threads = 2});
    Random random(RandomKey{.seed = 9});
    CHECK(index.pick_voxel(labels.cached, 3, random) == VolumeIndex{0, 39, 0, 89});
    for (int i = 0; i < 20; ++i)
      CHECK(labels.volume->voxel(index.pick_voxel(labels.cached, 2, random)) == 2);
    if (voxels_of(block) < 4096) continue;
    const CachedVolume fresh(labels.volume, std::make_shared<BlockCache>(std::size_t{1} << 24));
    const int reads = labels.volume->reads;
    index.pick_voxel(fresh, 2, random);
    CHECK(labels.volume->reads == reads + 1);
  }
}

TEST_CASE("a volume of one voxel and one without foreground have an index") {
  const VolumeInfo one{.shape = {1, 1, 1, 1}, .block = {1, 1, 1, 1}};
  const Labels<std::uint8_t> full(one, [](const VolumeIndex&) { return 7; });
  const ForegroundIndex index(full.cached);
  Random random(RandomKey{.seed = 9});
  CHECK(index.pick_voxel(full.cached, 7, random) == VolumeIndex{});
  const Labels<std::uint8_t> empty(one, [](const VolumeIndex&) { return 0; });
  const ForegroundIndex none(empty.cached);
  CHECK(none.classes().empty());
  CHECK(none.bounds().empty());
  CHECK(contains(test::message_of<DataError>([&] { none.pick(7, random); }), "label 7"));
}

TEST_CASE("what is no label is refused with the volume's name and the value") {
  const Labels<std::int16_t> negative(head,
                                      [](const VolumeIndex& at) { return at[3] == 5 ? -1 : 0; });
  CHECK(contains(refusal(negative), "made"));
  CHECK(contains(refusal(negative), "got -1"));
  CHECK(refusal(negative, {.ignore = -1}).empty());
  CHECK(refusal(negative, {.labels = {4}}).empty());
  VolumeInfo halves = head;
  halves.scale = 0.5;
  CHECK(contains(refusal(Labels<std::int16_t>(halves)), "whole number"));
  CHECK_THROWS_AS(ForegroundIndex(negative.cached, {.ignore = -1, .threads = 0}), ConfigError);
}

TEST_CASE("labels are values: scaled and offset") {
  VolumeInfo info = head;
  info.scale = 2.0;
  info.offset = 1.0;
  const Labels<std::int16_t> labels(info, [](const VolumeIndex& at) { return at[3] == 5 ? 3 : 0; });
  const ForegroundIndex index(labels.cached, {.labels = {7}});
  CHECK(index.count(7) == 40 * 70);
  Random random(RandomKey{.seed = 9});
  CHECK(index.pick_voxel(labels.cached, 7, random)[3] == 5);
}

TEST_CASE("an index is kept beside the file, and read while it is of the file and whole") {
  const test::TemporaryFolder root;
  const fs::path file = root / "case.nii";
  test::write_bytes(file, std::vector<std::byte>(100));
  const Labels<std::uint8_t> labels;
  const ForegroundOptions options{.ignore = 255};
  const auto open = [&](const ForegroundOptions& now) {
    const ForegroundIndex index = ForegroundIndex::of_file(labels.cached, file, now);
    const ForegroundIndex anew(labels.cached, now);
    CHECK(index.classes() == anew.classes());
    for (const std::int64_t label : anew.classes())
      CHECK(index.count(label) == anew.count(label));
    CHECK(index.bounds() == anew.bounds());
    Random a(RandomKey{.seed = 4}), b(RandomKey{.seed = 4});
    CHECK(index.pick_voxel(labels.cached, 1, a) == anew.pick_voxel(labels.cached, 1, b));
    return index.was_kept();
  };
  CHECK_FALSE(open(options));
  CHECK(open(options));
  CHECK_FALSE(open({.labels = {1}}));  // other labels
  CHECK_FALSE(open(options));
  CHECK(open(options));
  test::write_bytes(file, std::vector<std::byte>(101));
  CHECK_FALSE(open(options));  // another size
  CHECK(open(options));
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(3));
  CHECK_FALSE(open(options));  // another time
  CHECK(open(options));
  const fs::path kept = ForegroundIndex::kept_file(file);
  const std::vector<std::byte> sound = test::file_bytes(kept);
  for (std::size_t at = 0; at < sound.size(); at += at < 200 ? 13 : 97) {
    std::vector<std::byte> bytes = sound;
    bytes[at] ^= std::byte{1};
    fs::remove(kept);
    test::write_bytes(kept, bytes);
    REQUIRE_FALSE(ForegroundIndex::of_file(labels.cached, file, options).was_kept());
    bytes.resize(at);
    fs::remove(kept);
    test::write_bytes(kept, bytes);
    REQUIRE_FALSE(ForegroundIndex::of_file(labels.cached, file, options).was_kept());
  }
  CHECK(open(options));  // written anew
}

TEST_CASE("where nothing can be written beside the file, the index is made anew each time") {
  const test::TemporaryFolder root;
  const fs::path file = root / "case.nii";
  test::write_bytes(file, std::vector<std::byte>(100));
  // A folder of the name: even root cannot write a file there.
  fs::create_directories(ForegroundIndex::kept_file(file) / "in the way");
  const Labels<std::uint8_t> labels;
  for (int i = 0; i < 2; ++i) {
    const ForegroundIndex index = ForegroundIndex::of_file(labels.cached, file, {.ignore = 255});
    CHECK_FALSE(index.was_kept());
    CHECK(index.classes().size() == 3);
  }
  CHECK_FALSE(ForegroundIndex::of_file(labels.cached, root.path(), {.ignore = 255}).was_kept());
}

TEST_CASE("a volume that changed under its index is a DataError") {
  const Labels<std::uint8_t> labels;
  const Labels<std::uint8_t> changed(head, [](const VolumeIndex&) { return 0; });
  const ForegroundIndex index(labels.cached, {.ignore = 255});
  Random random(RandomKey{.seed = 4});
  CHECK(contains(test::message_of<DataError>([&] { index.pick_voxel(changed.cached, 1, random); }),
                 ".headrace-foreground"));
}

TEST_CASE("a scan reports its progress, and what that throws ends it") {
  const Labels<std::uint8_t> labels;
  std::int64_t last = 0, all = 0;
  const ForegroundIndex index(
      labels.cached,
      {.ignore = 255, .threads = 3, .on_progress = [&](std::int64_t done, std::int64_t of) {
         CHECK(done == last + 1);
         last = done;
         all = of;
       }});
  CHECK(last == all);
  CHECK(all > 1);
  CHECK_THROWS_AS(
      ForegroundIndex(
          labels.cached,
          {.ignore = 255,
           .on_progress = [](std::int64_t, std::int64_t) { throw PipelineError("stopped"); }}),
      PipelineError);
}
