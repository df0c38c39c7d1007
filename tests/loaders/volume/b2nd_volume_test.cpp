#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/b2nd_volume.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/volume_stores.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// What python-blosc2 wrote, and where.
struct Frames {
  TemporaryFolder folder;
  std::vector<StoredVolume> volumes = unpack_stores("b2nd", folder.path());
};

const Frames& frames() {
  static const Frames all;
  return all;
}

double b2nd_fill(const std::string& path) {
  if (path == "all_value.b2nd") return 7.5;
  return path.find("nan") == std::string::npos ? 0.0 : std::numeric_limits<double>::quiet_NaN();
}

std::string file_refusal(const std::string& file) {
  return message_of<DataError>([&] { open_b2nd_volume(frames().folder / file); });
}

}  // namespace

TEST_CASE("what python-blosc2 writes is read voxel by voxel, whatever codec and filter") {
  if (!has_blosc) return skip("no Blosc2 in this build");
  CHECK(frames().volumes.size() > 60);
  for (const StoredVolume& stored : frames().volumes) {
    CAPTURE(stored.path);
    const auto volume = open_volume(frames().folder / stored.path);
    check_volume_values(*volume, stored, b2nd_fill(stored.path));
  }
}

TEST_CASE("a block costs its own bytes, and its chunk's header once") {
  if (!has_blosc) return skip("no Blosc2 in this build");
  const auto volume = open_b2nd_volume(frames().folder / "f4_lz4hc_shuffle.b2nd");
  std::vector<std::byte> block(volume->info().block_bytes());
  const std::uint64_t first = volume->read_block({0, 0, 0, 0}, block);
  const std::uint64_t again = volume->read_block({0, 0, 0, 0}, block);
  CHECK(first == again + 32 + 8 * 4);  // eight blocks in a chunk
  CHECK(again < 200);
  CHECK(volume->resident_bytes() > 0);

  const auto plain = open_b2nd_volume(frames().folder / "level0.b2nd");
  block.resize(plain->info().block_bytes());
  plain->read_block({}, block);
  CHECK(plain->read_block({}, block) == block.size());
}

TEST_CASE("threads read blocks of the same file at once") {
  if (!has_blosc) return skip("no Blosc2 in this build");
  const auto path = frames().folder / "channels.b2nd";
  const WholeVolume expected(*open_b2nd_volume(path));
  const auto volume = open_b2nd_volume(path);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (int& mine : right) {
    threads.emplace_back([&] {
      const WholeVolume whole(*volume);
      mine = whole.at(1, 6, 8, 9) == expected.at(1, 6, 8, 9) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == std::vector<int>(4, 1));
}

TEST_CASE("what is not decoded is refused by name") {
  CHECK(contains(file_refusal("refused_delta.b2nd"), "got delta; write it without"));
  CHECK(contains(file_refusal("refused_bytedelta.b2nd"), "got filter 35"));
  CHECK(contains(file_refusal("refused_dict.b2nd"), "must need no dictionary"));
}
