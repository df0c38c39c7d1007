// A chunk store, and an index of foreground kept beside a file of labels, of any content, checksums
// made right: a store gives voxels, the same ones again, or a DataError; a kept index is used only
// where what it says can be of its volume.
//
// Input: which file (1 byte), then changes to a sound one (edits.h).
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/foreground_index.h>
#include <headrace/tests/fuzz/edits.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/memory_file.h>
#include <headrace/tests/loaders/volume/chunk_store_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <libdeflate.h>

using namespace headrace;
using test::Bytes;

namespace {

constexpr VolumeLimits limits{.voxels = 1 << 16, .block_bytes = 1 << 16, .blocks = 1 << 10};

Bytes sound_store(ChunkStoreCodec codec) {
  const test::TemporaryFolder root;
  write_chunk_store(test::mixed_volume(),
                    {.file = root / "a.hrv", .chunk = {4, 5, 6}, .codec = codec});
  return test::file_bytes(root / "a.hrv");
}

/// All voxels, or why there are none.
std::string outcome_of(const Bytes& file) {
  const test::MemoryFile memory(file);
  try {
    const ChunkStoreVolume store(memory.name(), limits);
    const Bytes voxels = test::all_voxels(store);
    return {reinterpret_cast<const char*>(voxels.data()), voxels.size()};
  } catch (const DataError& error) {
    // The name of the file differs from one run to the next.
    const std::string text = error.what();
    return text.substr(std::min(text.size(), text.find(": ")));
  }
}

void run_store(Bytes file, std::span<const std::uint8_t> edits) {
  file = test::edited(std::move(file), edits);
  test::repair_store(file);
  const std::string first = outcome_of(file);
  if (outcome_of(file) != first) test::finding("a store gives something else the second time");
}

/// A volume of labels 0 to 3 and its kept index.
class KeptIndex {
 public:
  KeptIndex()
      : volume_(std::make_shared<test::MadeVolume<std::uint8_t>>(
            VolumeInfo{.shape = {1, 9, 20, 40}, .block = {1, 9, 20, 20}},
            [](const VolumeIndex& at) { return static_cast<std::uint8_t>(at[3] / 10); })),
        labels_(volume_, std::make_shared<BlockCache>(std::size_t{1} << 20)) {
    test::write_bytes(file(), Bytes(10));
    ForegroundIndex::of_file(labels_, file());
    sound_ = test::file_bytes(ForegroundIndex::kept_file(file()));
  }

  void run(std::span<const std::uint8_t> edits) const {
    Bytes kept = test::edited(sound_, edits);
    if (kept.size() > 12) {
      const std::uint32_t sum = libdeflate_crc32(0, kept.data() + 12, kept.size() - 12);
      std::memcpy(kept.data() + 8, &sum, sizeof sum);
    }
    std::filesystem::remove(ForegroundIndex::kept_file(file()));
    test::write_bytes(ForegroundIndex::kept_file(file()), kept);
    const ForegroundIndex index = ForegroundIndex::of_file(labels_, file());
    Random random(RandomKey{.seed = 1});
    for (const std::int64_t label : index.classes()) {
      try {
        if (!volume_->holds(index.pick_voxel(labels_, label, random)))
          test::finding("a voxel outside the volume was picked");
      } catch (const DataError&) {
        // The index says more than the volume has.
      }
    }
    for (std::size_t axis = 0; axis < 4; ++axis)
      if (index.bounds().end[axis] > volume_->info().shape[axis])
        test::finding("the bounds reach beyond the volume");
  }

 private:
  std::filesystem::path file() const { return root_ / "labels"; }

  test::TemporaryFolder root_;
  std::shared_ptr<test::MadeVolume<std::uint8_t>> volume_;
  CachedVolume labels_;
  Bytes sound_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bytes stores[] = {sound_store(ChunkStoreCodec::raw),
                                 sound_store(ChunkStoreCodec::lz4),
                                 sound_store(ChunkStoreCodec::zstd)};
  static const KeptIndex index;
  if (size == 0) return 0;
  const std::span<const std::uint8_t> edits(data + 1, size - 1);
  if (data[0] % 4 == 3) {
    index.run(edits);
  } else {
    run_store(stores[data[0] % 4], edits);
  }
  return 0;
}
