#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/chunk_store_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::Bytes;
using test::contains;

namespace {

constexpr VolumeLimits limits{.voxels = 1 << 24, .block_bytes = 1 << 20, .blocks = 1 << 16};

Bytes sound_store(ChunkStoreCodec codec) {
  const test::TemporaryFolder root;
  write_chunk_store(test::mixed_volume(),
                    {.file = root / "a.hrv", .chunk = {4, 5, 6}, .codec = codec});
  return test::file_bytes(root / "a.hrv");
}

/// A file of any bytes, opened and read to its end.
class Hostile {
 public:
  /// Why it was refused; empty when it was not.
  std::string refusal(const Bytes& bytes) const {
    std::filesystem::remove(path_);  // quicker than to cut it
    test::write_bytes(path_, bytes);
    return test::message_of<DataError>([&] {
      const ChunkStoreVolume store(path_, limits);
      Bytes block(store.info().block_bytes());
      const VolumeIndex grid = store.info().grid();
      VolumeIndex at;
      for (at[0] = 0; at[0] < grid[0]; ++at[0])
        for (at[1] = 0; at[1] < grid[1]; ++at[1])
          for (at[2] = 0; at[2] < grid[2]; ++at[2])
            for (at[3] = 0; at[3] < grid[3]; ++at[3])
              store.read_block(at, block);
    });
  }

  std::filesystem::path path() const { return path_; }

 private:
  test::TemporaryFolder root_;
  std::filesystem::path path_ = root_ / "odd.hrv";
};

template <class T>
Bytes with(Bytes file, std::size_t at, T value, bool repaired = true) {
  std::memcpy(file.data() + at, &value, sizeof value);
  if (repaired) test::repair_store(file);
  return file;
}

}  // namespace

TEST_CASE("a chunk store cut off anywhere is refused") {
  const Hostile hostile;
  const Bytes sound = sound_store(ChunkStoreCodec::lz4);
  REQUIRE(hostile.refusal(sound).empty());
  for (std::size_t bytes = 0; bytes < sound.size(); bytes += 97) {
    CAPTURE(bytes);
    CHECK(contains(hostile.refusal({sound.begin(), sound.begin() + static_cast<long>(bytes)}),
                   "odd.hrv"));
  }
  Bytes longer = sound;
  longer.resize(sound.size() + 1);
  CHECK(contains(hostile.refusal(longer), "bytes as when it was written"));
}

TEST_CASE("a byte changed anywhere in a chunk store is found") {
  const Hostile hostile;
  for (const auto codec : {ChunkStoreCodec::raw, ChunkStoreCodec::lz4, ChunkStoreCodec::zstd}) {
    const Bytes sound = sound_store(codec);
    int missed = 0;
    for (std::size_t at = 0; at<sound.size(); at += at> 260 && at < 4090 ? 61 : 1)
      if (hostile.refusal(with(sound, at, sound[at] ^ std::byte{0x10}, false)).empty()) ++missed;
    CHECK(missed == 0);
  }
}

TEST_CASE("bytes behind right checksums that do not decode are refused") {
  const Hostile hostile;
  for (const auto codec : {ChunkStoreCodec::lz4, ChunkStoreCodec::zstd}) {
    const Bytes sound = sound_store(codec);
    std::uint64_t chunks = 0;
    std::memcpy(&chunks, sound.data() + 216, 8);
    int refused = 0;
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::size_t entry = 4096 + 32 * i;
      std::uint64_t offset = 0;
      std::uint32_t stored = 0;
      std::memcpy(&offset, sound.data() + entry, 8);
      std::memcpy(&stored, sound.data() + entry + 8, 4);
      if (sound[entry + 16] != std::byte{1}) continue;
      for (std::uint32_t byte = 0; byte < stored; ++byte) {
        Bytes file = sound;
        file[offset + byte] ^= std::byte{0x81};
        const std::uint32_t sum =
            detail::checksum_of(std::span<const std::byte>(file).subspan(offset, stored));
        const std::string message = hostile.refusal(with(file, entry + 12, sum));
        if (message.empty()) continue;  // other voxels of the right number
        ++refused;
        CHECK(contains(message, "odd.hrv"));
      }
    }
    CHECK(refused > 20);
  }
}

TEST_CASE("a header that lies in any field is refused with the field's rule") {
  const Hostile hostile;
  const Bytes sound = sound_store(ChunkStoreCodec::lz4);
  const auto lie = [&](std::size_t at, auto value) {
    return hostile.refusal(with(sound, at, value));
  };
  CHECK(contains(lie(0, 'H'), "begin as a chunk store"));
  CHECK(contains(lie(8, std::uint32_t{2}), "version 1, got 2"));
  CHECK(contains(lie(12, std::uint8_t{13}), "dtype must be a known one, got number 13"));
  CHECK(contains(lie(13, std::uint8_t{3}), "codec must be raw, lz4 or zstd, got number 3"));
  CHECK(contains(lie(15, std::uint8_t{1}), "no meaning"));
  CHECK(contains(lie(300, std::uint8_t{1}), "no meaning"));
  for (std::size_t axis = 0; axis < 4; ++axis) {
    CHECK(contains(lie(16 + 8 * axis, std::int64_t{0}), "extent along"));
    CHECK(contains(lie(16 + 8 * axis, std::int64_t{-1}), "extent along"));
    CHECK(contains(lie(16 + 8 * axis, std::int64_t{1} << 40), "extent along"));
    CHECK(contains(lie(16 + 8 * axis, std::int64_t{5000}), "chunks of its shape"));
    CHECK(contains(lie(48 + 8 * axis, std::int64_t{0}), "a block along"));
    CHECK_FALSE(lie(48 + 8 * axis, std::int64_t{1} << 62).empty());
    CHECK(contains(lie(48 + 8 * axis, std::int64_t{12}),
                   axis == 0 ? "one channel" : "no larger than the volume"));
  }
  CHECK(contains(lie(80, 0.0), "scale"));
  CHECK(contains(lie(88, std::uint64_t{0x7ff0000000000000}), "offset"));
  CHECK(contains(lie(96, -1.0), "spacing"));
  CHECK(contains(lie(120, std::uint64_t{0x7ff8000000000000}), "affine"));
  for (const std::uint64_t chunks : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}})
    CHECK(contains(lie(216, chunks), "chunks of its shape"));
  CHECK(contains(lie(224, std::uint64_t{0}), "must be finished"));
  CHECK(contains(lie(224, std::uint64_t{sound.size() + 1}), "bytes as when it was written"));
  CHECK(contains(hostile.refusal(with(sound, 244, std::uint8_t{1}, false)), "checksum"));
}

TEST_CASE("an entry of the index that lies is refused with the chunk's number") {
  const Hostile hostile;
  const Bytes sound = sound_store(ChunkStoreCodec::lz4);
  std::uint64_t chunks = 0;
  std::memcpy(&chunks, sound.data() + 216, 8);
  for (std::size_t i = 0; i < chunks; ++i) {
    CAPTURE(i);
    const std::size_t at = 4096 + 32 * i;
    const bool constant = sound[at + 16] == std::byte{2};
    const std::string who = "chunk " + std::to_string(i);
    const auto lie = [&](std::size_t where, auto value) {
      return hostile.refusal(with(sound, at + where, value));
    };
    for (const std::uint64_t offset : {std::uint64_t{70'000}, ~std::uint64_t{0}, sound.size() - 1})
      CHECK(contains(lie(0, offset), constant && offset < 65'536 ? "" : who));
    for (const std::uint32_t bytes : {0U, 1U, 0x7fffffffU, 0xffffffffU})
      if (!(constant && bytes == 0)) CHECK_FALSE(lie(8, bytes).empty());
    CHECK(contains(lie(12, std::uint32_t{1}), who));
    for (const int state : {0, 3, 255})
      CHECK(contains(lie(16, static_cast<std::uint8_t>(state)), who));
    CHECK_FALSE(lie(16, static_cast<std::uint8_t>(constant ? 1 : 2)).empty());
    CHECK(contains(lie(20, std::uint32_t{1}), who));
  }
}

TEST_CASE("a small file that claims a huge volume takes no memory for it") {
  const Hostile hostile;
  Bytes file = sound_store(ChunkStoreCodec::raw);
  const std::int64_t extents[] = {1, 1 << 20, 1 << 20, 1};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    file = with(file, 16 + 8 * axis, extents[axis], false);
    file = with(file, 48 + 8 * axis,
                axis == 1 || axis == 2 ? std::int64_t{1 << 7} : std::int64_t{1}, false);
  }
  file = with(file, 216, std::uint64_t{1} << 26);
  test::write_bytes(hostile.path(), file);
  CHECK(contains(test::message_of<DataError>([&] { ChunkStoreVolume store(hostile.path()); }),
                 "index of all its chunks"));
  // The same as a file with a hole where the index would be.
  const std::uint64_t size = 4096 + (std::uint64_t{32} << 26);
  file = with(file, 224, size);
  test::write_bytes(hostile.path(), file);
  std::filesystem::resize_file(hostile.path(), size);
  CHECK(contains(test::message_of<DataError>([&] { ChunkStoreVolume store(hostile.path()); }),
                 "chunk "));
}

TEST_CASE("what is no chunk store is refused by name") {
  const Hostile hostile;
  CHECK(contains(hostile.refusal(Bytes(5000)), "begin as a chunk store"));
  CHECK(contains(test::message_of<DataError>([] { ChunkStoreVolume store("/no/such.hrv"); }),
                 "/no/such.hrv: cannot be opened"));
  CHECK(contains(test::message_of<DataError>([] { ChunkStoreVolume store("/tmp"); }),
                 "regular file"));
  const Bytes sound = sound_store(ChunkStoreCodec::raw);
  CHECK(ChunkStoreVolume::recognises(sound));
  CHECK_FALSE(ChunkStoreVolume::recognises(std::span(sound).first(7)));
}

TEST_CASE("a file that becomes shorter under its reader ends the reading") {
  const Hostile hostile;
  const Bytes sound = sound_store(ChunkStoreCodec::raw);
  test::write_bytes(hostile.path(), sound);
  const ChunkStoreVolume store(hostile.path());
  std::filesystem::resize_file(hostile.path(), sound.size() - 10);
  Bytes block(store.info().block_bytes());
  const VolumeIndex grid = store.info().grid();
  const VolumeIndex last{grid[0] - 1, grid[1] - 1, grid[2] - 1, grid[3] - 1};
  CHECK(contains(test::message_of<PipelineError>([&] { store.read_block(last, block); }),
                 "must stay as it is"));
}
