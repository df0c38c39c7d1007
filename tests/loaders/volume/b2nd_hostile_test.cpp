#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/b2nd_volume.h>
#include <headrace/tests/fuzz/memory_file.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/volume_stores.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

using Bytes = std::vector<std::byte>;

const TemporaryFolder& folder() {
  static const TemporaryFolder all;
  static const auto volumes = unpack_stores("b2nd", all.path());
  return all;
}

Bytes frame_of(const std::string& name) {
  return file_bytes(folder() / (name + ".b2nd"));
}

/// A number of `size` bytes, as the frame's header stores it.
Bytes with_big(Bytes bytes, std::size_t at, std::size_t size, std::uint64_t value) {
  for (std::size_t i = size; i-- > 0; value >>= 8)
    bytes.at(at + i) = static_cast<std::byte>(value & 255U);
  return bytes;
}

/// The same as chunks store it.
Bytes with_little(Bytes bytes, std::size_t at, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i, value >>= 8)
    bytes.at(at + i) = static_cast<std::byte>(value & 255U);
  return bytes;
}

/// What is said when that file is opened, or its first block read.
std::string frame_refusal(const Bytes& bytes, const VolumeLimits& limits = {}) {
  const auto path = folder() / "hostile.b2nd";
  write_bytes(path, bytes);
  const std::string message = message_of<DataError>([&] {
    const auto volume = open_b2nd_volume(path, limits);
    std::vector<std::byte> block(volume->info().block_bytes());
    volume->read_block({}, block);
  });
  CHECK(contains(message, "[volume] " + path.string() + ": "));
  return message;
}

/// Opens a file and reads all of its blocks, or as many as a hostile one should have.
void try_all(const Bytes& bytes) {
  const MemoryFile file(bytes);
  try {
    const auto volume = open_b2nd_volume(file.name(), {.voxels = 1 << 16, .block_bytes = 1 << 16});
    const WholeVolume whole(*volume);
  } catch (const DataError&) {
  } catch (const ConfigError&) {
    if (has_blosc) throw;
  }
}

// Where the header has what: shape, chunk and block of an array of three axes, the type's name.
constexpr std::size_t shape_at = 117, chunk_at = 145, block_at = 161, name_at = 181;

std::size_t header_bytes(const Bytes& frame) {
  return std::to_integer<std::size_t>(frame[14]);
}

}  // namespace

TEST_CASE("the header of a frame that breaks a rule is refused by its name") {
  const Bytes sound = frame_of("level0");
  CHECK(contains(frame_refusal({}), "must be a Blosc2 frame, got a file of 0 bytes"));
  CHECK(contains(frame_refusal(Bytes(200)), "it does not begin as one"));
  CHECK(contains(frame_refusal(with_big(sound, 11, 4, 12)),
                 "header of the frame says that it has 12"));
  CHECK(contains(frame_refusal(with_big(sound, 11, 4, 0x7fffffff)), "says that it has 2147483647"));
  CHECK(contains(frame_refusal(with_big(sound, 11, 4, 0x80000000)), "below 0"));
  CHECK(contains(frame_refusal(with_big(sound, 16, 8, std::uint64_t{1} << 60)), "the file has"));
  CHECK(contains(frame_refusal(with_big(sound, 25, 1, 0x13)), "must be of version 1 or 2, got 3"));
  CHECK(contains(frame_refusal(with_big(sound, 25, 1, 0x52)), "chunks of one size"));
  CHECK(contains(frame_refusal(with_big(sound, 26, 1, 1)),
                 "must be one file (contiguous), got the type 1"));
  CHECK(contains(frame_refusal(with_big(sound, 30, 8, 1)), "the size of the frame must be"));
  CHECK(contains(frame_refusal(with_big(sound, 39, 8, std::uint64_t{1} << 40)),
                 "the chunks must have"));
  CHECK(contains(frame_refusal(with_big(sound, 39, 8, ~std::uint64_t{0})), "below 0"));
  CHECK(contains(frame_refusal(with_big(sound, 48, 4, 2)), "the type's size of the frame"));
  CHECK(contains(frame_refusal(with_big(sound, 53, 4, 0)), "the size of a block of the frame"));
  CHECK(contains(frame_refusal(with_big(sound, 58, 4, 0x7fffffff)),
                 "the size of a chunk of the frame"));
  CHECK(contains(frame_refusal(with_big(sound, 71, 1, 160)), "got filter 160"));
  CHECK(contains(frame_refusal(with_big(sound, 87, 1, 0)), "must have the marker 147, got 0"));
  CHECK(contains(frame_refusal(with_big(sound, 93, 1, 0xff)), "layers of metadata"));
  CHECK(contains(frame_refusal(with_big(sound, 95, 1, 'c')), "without the layer \"b2nd\""));
  CHECK(contains(frame_refusal(with_big(sound, 99, 4, 0x7fffffff)), "marker"));
}

TEST_CASE("extents of an array that lie are refused") {
  const Bytes sound = frame_of("level0");
  CHECK(contains(frame_refusal(with_big(sound, shape_at, 8, 0)),
                 "the shape must have extents from 1 on"));
  CHECK(contains(frame_refusal(with_big(sound, shape_at, 8, ~std::uint64_t{0})), "got -1"));
  CHECK(contains(frame_refusal(with_big(sound, shape_at, 8, std::uint64_t{1} << 62)),
                 "chunks must be"));
  CHECK(contains(frame_refusal(with_big(sound, chunk_at, 4, 0)),
                 "a chunk must have extents from 1 on"));
  CHECK(contains(frame_refusal(with_big(sound, chunk_at, 4, 0x7fffffff)), "blocks of a chunk"));
  CHECK(contains(frame_refusal(with_big(sound, block_at, 4, 0)),
                 "a block must have extents from 1 on"));
  CHECK(contains(frame_refusal(with_big(sound, block_at, 4, 0x7fffffff)),
                 "a block must be part of its"));
  CHECK(contains(frame_refusal(with_big(sound, name_at, 1, 'x')),
                 "the type must be a number or boolean"));
  CHECK(contains(frame_refusal(sound, {.block_bytes = 16}), "bytes of a block must be at most 16"));
  CHECK(contains(frame_refusal(sound, {.metadata_bytes = 100}), "the header of the frame says"));
  CHECK(contains(frame_refusal(sound, {.extent = 5}), "the extent along z"));
}

TEST_CASE("chunks that lie are refused before they reach the library") {
  if (!has_blosc) return skip("no Blosc2 in this build");
  const Bytes sound = frame_of("f4_lz4hc_shuffle");
  const std::size_t at = header_bytes(sound);
  CHECK(contains(frame_refusal(with_little(sound, at, 1, 9)), "of the format 1 to 5, got 9"));
  CHECK(contains(frame_refusal(with_little(sound, at + 2, 1, 0x55)), "got the codec 2"));
  CHECK(contains(frame_refusal(with_little(sound, at + 2, 1, 0xd5)), "got the codec 6"));
  CHECK(contains(frame_refusal(with_little(sound, at + 2, 1, 0x30)), "must be of Blosc2"));
  CHECK(contains(frame_refusal(with_little(sound, at + 3, 1, 0)), "its type has no bytes"));
  CHECK(contains(frame_refusal(with_little(sound, at + 4, 4, 0x7fffffff)),
                 "it decodes to 2147483647"));
  CHECK(contains(frame_refusal(with_little(sound, at + 4, 4, 0x80000000)),
                 "it decodes to -2147483648"));
  CHECK(contains(frame_refusal(with_little(sound, at + 8, 4, 0)), "its blocks have 0 bytes"));
  CHECK(contains(frame_refusal(with_little(sound, at + 8, 4, 4)), "a block of a chunk must have"));
  CHECK(contains(frame_refusal(with_little(sound, at + 12, 4, 0x7fffffff)), "the chunks end at"));
  CHECK(
      contains(frame_refusal(with_little(sound, at + 12, 4, 33)), "ends before its blocks begin"));
  CHECK(contains(frame_refusal(with_little(sound, at + 12, 4, 3)), "stored in 3 bytes"));
  CHECK(contains(frame_refusal(with_little(sound, at + 16, 1, 3)), "got delta"));
  CHECK(contains(frame_refusal(with_little(sound, at + 17, 1, 32)), "got filter 32"));
  CHECK(contains(frame_refusal(with_little(sound, at + 30, 1, 1)), "blocks of one size"));
  CHECK(contains(frame_refusal(with_little(sound, at + 31, 1, 1)), "no dictionary"));
  CHECK(contains(frame_refusal(with_little(sound, at + 31, 1, 8)), "which no file has"));
  CHECK(contains(frame_refusal(with_little(sound, at + 31, 1, 0x70)), "special value 7"));
  CHECK(contains(frame_refusal(with_little(sound, at + 32, 4, 0)), "a block begins at byte 0"));
  CHECK(contains(frame_refusal(with_little(sound, at + 32, 4, 0xffffffff)),
                 "a block begins at byte 42"));
}

TEST_CASE("places of chunks that lie are refused") {
  if (!has_blosc) return skip("no Blosc2 in this build");
  Bytes frame = frame_of("all_zero");  // its index is one value, at the end of its header
  const std::size_t value = header_bytes(frame) + 32;
  const auto tried = [&](std::uint64_t offset) {
    return frame_refusal(with_little(frame, value, 8, offset));
  };
  CHECK(contains(tried(0), "a chunk begins at byte 0 of 0"));
  CHECK(contains(tried(std::uint64_t{1} << 62), "a chunk begins at byte 46116"));
  CHECK(contains(tried(std::uint64_t{0x83} << 56), "special value 3, which does not exist"));
  CHECK(contains(tried(std::uint64_t{0x80} << 56), "special value 0"));
  const std::size_t index = header_bytes(frame);
  CHECK(contains(frame_refusal(with_little(frame, index + 4, 4, 8)), "it decodes to 8 bytes"));
  CHECK(contains(frame_refusal(with_little(frame, index + 12, 4, 0x7fffffff)), "of one value"));
  CHECK(contains(frame_refusal(with_little(frame, index + 3, 1, 4)), "of one value"));
  CHECK(contains(frame_refusal(with_little(frame, index + 31, 1, 0x20)), "the index of chunks"));
  CHECK(contains(frame_refusal(with_big(with_little(frame, value, 8, std::uint64_t{0x82} << 56),
                                        name_at, 3, 0x3c6934)),
                 "whole numbers"));
}

TEST_CASE("every frame takes every cut, and any byte of it changed") {
  for (const char* file :
       {"f4_lz4hc_shuffle", "i2_zstd_bitshuffle", "u1_blosclz_plain", "f4_zlib_shuffle", "level0",
        "zero_chunk", "nan_chunk", "all_value", "all_zero", "odd_blocks", "channels"}) {
    CAPTURE(file);
    const Bytes sound = frame_of(file);
    for (std::size_t at = 0; at < sound.size(); at += at < 400 ? 1 : 1 + sound.size() / 101) {
      for (const std::byte change : {std::byte{0xff}, std::byte{0x01}, std::byte{0x80}}) {
        Bytes bytes = sound;
        bytes[at] ^= change;
        try_all(bytes);
      }
      try_all(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}
