#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/filter/filters.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/loaders/hdf5/internal/unshuffle.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_stored_chunks.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

namespace headrace::test {
namespace {

using detail::ChunkCodec;
using detail::ChunkFilter;
using detail::CodecScratch;
using Bytes = std::vector<std::byte>;

Bytes expected(const StoredChunk& chunk) {
  if (chunk.noise) return noise(chunk.element * chunk.count);
  Bytes bytes(chunk.element * chunk.count);
  for (std::uint64_t i = 0; i < chunk.count; ++i) {
    const std::uint64_t value = i / 9 * 3;
    std::memcpy(bytes.data() + i * chunk.element, &value, chunk.element);
  }
  return bytes;
}

Bytes decoded(const StoredChunk& chunk, const Bytes& stored) {
  Bytes out(chunk.element * chunk.count, std::byte{0xee});
  CodecScratch scratch;
  ChunkCodec(chunk.filters, out.size()).decode(stored, chunk.skipped, out, scratch);
  return out;
}

std::string codec_refusal(const std::vector<ChunkFilter>& filters, std::size_t bytes,
                          const Bytes& stored) {
  return message_of<DataError>([&] {
    Bytes out(bytes);
    CodecScratch scratch;
    ChunkCodec(filters, bytes).decode(stored, 0, out, scratch);
  });
}

Bytes deflated(const Bytes& bytes) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(9);
  Bytes packed(libdeflate_zlib_compress_bound(compressor, bytes.size()));
  packed.resize(libdeflate_zlib_compress(compressor, bytes.data(), bytes.size(), packed.data(),
                                         packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

}  // namespace

TEST_CASE("chunks that h5py and hdf5plugin stored decode to what went in") {
  for (const StoredChunk& chunk : stored_chunks()) {
    CAPTURE(chunk.name);
    CHECK(decoded(chunk, chunk.bytes()) == expected(chunk));
  }
}

TEST_CASE("a chunk cut short anywhere is refused or decodes to its size, never past it") {
  for (const StoredChunk& chunk : stored_chunks()) {
    CAPTURE(chunk.name);
    const Bytes whole = chunk.bytes();
    const std::size_t step = std::max<std::size_t>(whole.size() / 60, 1);
    for (std::size_t size = 0; size < whole.size(); size += step) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK_THROWS_AS(decoded(chunk, cut), DataError);
    }
  }
}

TEST_CASE("a chunk with a byte changed gives an error or some bytes, and touches no others") {
  for (const StoredChunk& chunk : stored_chunks()) {
    const Bytes whole = chunk.bytes();
    const std::size_t step = std::max<std::size_t>(whole.size() / 40, 1);
    for (std::size_t at = 0; at < whole.size(); at += step) {
      for (const std::byte change : {std::byte{0xff}, std::byte{0x01}, std::byte{0x80}}) {
        Bytes stored = whole;
        stored[at] ^= change;
        try {
          const Bytes out = decoded(chunk, stored);
          CHECK(out.size() == chunk.element * chunk.count);
        } catch (const DataError& error) {
          CHECK(contains(error.what(), "chunk"));
        }
      }
    }
  }
}

TEST_CASE("a checksum that does not fit is noticed") {
  for (const StoredChunk& chunk : stored_chunks()) {
    if (std::string_view(chunk.name) != "checksum of odd bytes") continue;
    Bytes stored = chunk.bytes();
    stored[100] ^= std::byte{1};
    CHECK(contains(message_of<DataError>([&] { decoded(chunk, stored); }), "checksum"));
  }
}

TEST_CASE("chunks that lie about their size are refused by name") {
  const Bytes zeros(1 << 20);
  const std::vector<ChunkFilter> deflate{{1, {4}}}, shuffled{{2, {4}}, {1, {4}}}, lz4{{32004, {}}};
  CHECK(contains(codec_refusal(deflate, 1000, deflated(zeros)), "more than its 1000 bytes"));
  CHECK(contains(codec_refusal(shuffled, 1000, deflated(zeros)), "unpacks to"));
  CHECK(contains(codec_refusal(deflate, 2 << 20, deflated(zeros)), "decodes to 1048576 bytes"));
  CHECK(contains(codec_refusal(deflate, 1000, Bytes(64, std::byte{0xff})), "cannot be unpacked"));
  Bytes header(12, std::byte{0xff});
  CHECK(contains(codec_refusal(lz4, 1000, header), "announces"));
  CHECK(contains(codec_refusal({{32008, {0, 4, 2, 0, 2}}}, 1000, header), "announces"));
  CHECK(contains(codec_refusal({}, 1000, Bytes(999)), "decodes to 999 bytes, it has 1000"));
}

TEST_CASE("settings that no writer gives are refused") {
  const auto refused = [](std::vector<ChunkFilter> filters) {
    return message_of<DataError>([&] { ChunkCodec(std::move(filters), 100); });
  };
  CHECK(contains(refused({{2, {}}}), "shuffle"));
  CHECK(contains(refused({{2, {0}}}), "shuffle"));
  CHECK(contains(refused({{32008, {0, 4, 0, 0, 2}}}), "bitshuffle"));
  CHECK(contains(refused({{32008, {0, 4, 4, 7, 2}}}), "bitshuffle"));
  CHECK(contains(refused({{32008, {0, 4, 4, 8, 9}}}), "bitshuffle"));
  CHECK(contains(refused(std::vector<ChunkFilter>(33, {2, {4}})), "33 filters"));
  CHECK_FALSE(ChunkCodec::knows(32001));
}

TEST_CASE("elements of any size come together again on every vector target") {
  for (const std::size_t element : {1U, 2U, 3U, 4U, 7U, 8U, 16U, 40U}) {
    for (const std::size_t count : {0U, 1U, 2U, 31U, 64U, 1001U}) {
      const std::size_t rest = element / 2;
      Bytes apart = noise(element * count + rest), joined(apart.size());
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < element; ++j)
          joined[i * element + j] = apart[j * count + i];
      std::copy(apart.end() - static_cast<std::ptrdiff_t>(rest), apart.end(),
                joined.end() - static_cast<std::ptrdiff_t>(rest));
      Bytes out(apart.size());
      detail::unshuffle(apart, element, out.data());
      CHECK(out == joined);
      int targets = 0;
      for (; count > 1; ++targets) {
        std::fill(out.begin(), out.end(), std::byte{0});
        if (!detail::unshuffle_on(targets, apart, element, out.data())) break;
        CHECK(out == joined);
      }
      if (count > 1) CHECK(targets > 0);
    }
  }
}

TEST_CASE("a few elements come out of shuffled bytes as they come out of all") {
  constexpr std::size_t count = 300;
  for (const std::size_t element : {2U, 3U, 4U, 8U, 16U}) {
    const Bytes apart = noise(element * count);
    Bytes joined(apart.size());
    detail::unshuffle(apart, element, joined.data());
    for (const std::size_t first : {0U, 1U, 37U}) {
      for (const std::size_t some : {0U, 1U, 15U, 16U, 32U, 33U, 100U, 263U}) {
        Bytes out(element * some);
        detail::unshuffle(apart, element, first, some, out.data());
        const auto from = joined.begin() + static_cast<std::ptrdiff_t>(element * first);
        CHECK(std::equal(out.begin(), out.end(), from));
      }
    }
  }
}

}  // namespace headrace::test
