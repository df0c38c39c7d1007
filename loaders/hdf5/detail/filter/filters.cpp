#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/filter/filters.h>
#include <headrace/loaders/hdf5/internal/unshuffle.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include <libdeflate.h>
#include <lz4.h>
#include <zstd.h>

namespace headrace::inline v1::detail {

std::uint32_t fletcher32(std::span<const std::byte> bytes) noexcept {
  // So many words fit before the sums must be folded.
  constexpr std::size_t most_words = 360;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffffU) + (sum >> 16); };
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::uint32_t one = 0, two = 0;
  for (std::size_t words = bytes.size() / 2; words > 0;) {
    const std::size_t now = std::min(words, most_words);
    for (std::size_t i = 0; i < now; ++i, at += 2) {
      one += static_cast<std::uint32_t>(at[0]) << 8 | at[1];
      two += one;
    }
    one = fold(one);
    two = fold(two);
    words -= now;
  }
  if (bytes.size() % 2 != 0) {
    one = fold(one + (static_cast<std::uint32_t>(*at) << 8));
    two = fold(two + one);
  }
  return fold(two) << 16 | fold(one);
}

std::span<const std::byte> checked_fletcher32(std::span<const std::byte> from) {
  constexpr std::size_t sum_bytes = 4;
  if (from.size() < sum_bytes)
    throw DataError("a chunk ends inside its checksum; the file is damaged");
  const auto data = from.first(from.size() - sum_bytes);
  std::uint32_t stored = 0;
  for (std::size_t i = 0; i < sum_bytes; ++i)
    stored |= std::to_integer<std::uint32_t>(from[data.size() + i]) << 8 * i;
  const std::uint32_t sum = fletcher32(data);
  // Versions before 1.6.3 on little-endian machines wrote the bytes of both halves reversed.
  const std::uint32_t reversed = (sum & 0x00ff00ffU) << 8 | (sum >> 8 & 0x00ff00ffU);
  if (stored != sum && stored != reversed)
    throw DataError("a chunk does not have the bytes its checksum says; the file is damaged");
  return data;
}

namespace {

[[noreturn]] void damaged(const std::string& what) {
  throw DataError("a chunk " + what + "; the file is damaged");
}

unsigned byte_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  return std::to_integer<unsigned>(bytes[at]);
}

/// Takes big-endian numbers and parts off the front of stored bytes.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const char* filter) : bytes_(bytes), filter_(filter) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : part(bytes))
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    return value;
  }
  std::span<const std::byte> part(std::size_t bytes) {
    if (bytes > bytes_.size()) {
      damaged(std::string("of ") + filter_ + " ends early: " + std::to_string(bytes) +
              " bytes were announced, " + std::to_string(bytes_.size()) + " are left");
    }
    const auto taken = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  const char* filter_;
};

const char* chars(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const char*>(bytes.data());
}

std::size_t lz4_block(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (from.size() > most || to.size() > most) damaged("of LZ4 has a block over 2 GiB");
  const int got = LZ4_decompress_safe(chars(from), reinterpret_cast<char*>(to.data()),
                                      static_cast<int>(from.size()), static_cast<int>(to.size()));
  if (got < 0) damaged("of LZ4 has a block that cannot be decoded");
  return static_cast<std::size_t>(got);
}

/// Size that a header announces for all its blocks.
std::size_t announced(std::uint64_t bytes, std::size_t room, const char* filter) {
  if (bytes > room) {
    damaged(std::string("of ") + filter + " announces " + std::to_string(bytes) +
            " bytes where at most " + std::to_string(room) + " belong");
  }
  return static_cast<std::size_t>(bytes);
}

/// The block size, in elements, that a writer takes when the settings leave it open.
std::size_t usual_block(std::size_t element) {
  constexpr std::size_t target_bytes = 8192, least = 128;
  return std::max(target_bytes / element / 8 * 8, least);
}

enum class Inner : std::uint32_t { none = 0, lz4 = 2, zstd = 3 };

struct BitshuffleSettings {
  std::size_t element;
  std::size_t block;  ///< elements
  Inner inner;
};

BitshuffleSettings bitshuffle_settings(const ChunkFilter& filter) {
  const auto value = [&](std::size_t i) {
    return i < filter.values.size() ? filter.values[i] : 0U;
  };
  BitshuffleSettings settings{value(2), value(3), static_cast<Inner>(value(4))};
  const bool known = settings.inner == Inner::none || settings.inner == Inner::lz4 ||
                     settings.inner == Inner::zstd;
  if (settings.element == 0 || settings.block % 8 != 0 || !known) {
    throw DataError("has bitshuffle with element size " + std::to_string(settings.element) +
                    ", block " + std::to_string(settings.block) + " and compression " +
                    std::to_string(value(4)) + ", which no writer gives; the file is damaged");
  }
  if (settings.block == 0) settings.block = usual_block(settings.element);
  return settings;
}

/// Calls one(block bytes) for all whole groups of eight elements; returns what is left at the end.
template <class One>
std::size_t for_blocks(std::size_t bytes, std::size_t element, std::size_t block, const One& one) {
  std::size_t elements = bytes / element;
  while (elements >= 8) {
    const std::size_t now = elements >= block ? block : elements / 8 * 8;
    one(now);
    elements -= now;
  }
  return bytes % element + elements * element;
}

}  // namespace

std::size_t decode_zlib(std::span<const std::byte> from, std::span<std::byte> to,
                        CodecScratch& scratch) {
  std::size_t got = 0;
  switch (libdeflate_zlib_decompress(scratch.deflate, from.data(), from.size(), to.data(),
                                     to.size(), &got)) {
    case LIBDEFLATE_SUCCESS:
      return got;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      damaged("of deflate unpacks to more than its " + std::to_string(to.size()) + " bytes");
    default:
      damaged("of deflate cannot be unpacked");
  }
}

std::size_t decode_zstd(std::span<const std::byte> from, std::span<std::byte> to,
                        CodecScratch& scratch) {
  const std::size_t got =
      ZSTD_decompressDCtx(scratch.zstd, to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(got) != 0)
    damaged(std::string("of Zstd cannot be decoded (") + ZSTD_getErrorName(got) + ")");
  return got;
}

std::size_t undo_deflate(const ChunkFilter&, std::span<const std::byte> from,
                         std::span<std::byte> to, CodecScratch& scratch) {
  return decode_zlib(from, to, scratch);
}

std::size_t undo_shuffle(const ChunkFilter& filter, std::span<const std::byte> from,
                         std::span<std::byte> to, CodecScratch&) {
  if (from.size() > to.size())
    damaged("unpacks to " + std::to_string(from.size()) + " bytes, it has " +
            std::to_string(to.size()));
  unshuffle(from, filter.values.front(), to.data());
  return from.size();
}

std::size_t undo_lzf(const ChunkFilter&, std::span<const std::byte> from, std::span<std::byte> to,
                     CodecScratch&) {
  std::size_t at = 0, made = 0;
  while (at < from.size()) {
    const unsigned control = byte_at(from, at++);
    if (control < 32) {  // a run of literals
      const std::size_t run = control + 1;
      if (run > from.size() - at || run > to.size() - made) damaged("of LZF has a run too long");
      std::memcpy(to.data() + made, from.data() + at, run);
      at += run;
      made += run;
      continue;
    }
    std::size_t length = control >> 5;
    if (from.size() - at < (length == 7 ? 2U : 1U)) damaged("of LZF ends inside a reference");
    if (length == 7) length += byte_at(from, at++);
    length += 2;
    const std::size_t back = ((control & 31U) << 8 | byte_at(from, at++)) + 1;
    if (back > made || length > to.size() - made) damaged("of LZF has a reference out of bounds");
    std::byte* target = to.data() + made;
    made += length;
    if (back >= length) {
      std::memcpy(target, target - back, length);
    } else {
      for (; length > 0; --length, ++target)
        *target = *(target - back);
    }
  }
  return made;
}

std::size_t undo_lz4(const ChunkFilter&, std::span<const std::byte> from, std::span<std::byte> to,
                     CodecScratch&) {
  Cursor stored(from, "LZ4");
  const std::size_t all = announced(stored.number(8), to.size(), "LZ4");
  const std::size_t block = stored.number(4);
  if (block == 0 && all > 0) damaged("of LZ4 announces blocks of no bytes");
  for (std::size_t made = 0; made < all;) {
    const auto target = to.subspan(made, std::min(block, all - made));
    const auto part = stored.part(stored.number(4));
    if (part.size() == target.size()) {  // kept as it was
      std::memcpy(target.data(), part.data(), part.size());
    } else if (lz4_block(part, target) != target.size()) {
      damaged("of LZ4 has a block shorter than announced");
    }
    made += target.size();
  }
  return all;
}

std::size_t undo_zstd(const ChunkFilter&, std::span<const std::byte> from, std::span<std::byte> to,
                      CodecScratch& scratch) {
  return decode_zstd(from, to, scratch);
}

std::size_t undo_bitshuffle(const ChunkFilter& filter, std::span<const std::byte> from,
                            std::span<std::byte> to, CodecScratch& scratch) {
  BitshuffleSettings settings = bitshuffle_settings(filter);
  const std::size_t element = settings.element;
  Cursor stored(from, "bitshuffle");
  std::size_t all = from.size();
  if (settings.inner != Inner::none) {
    all = announced(stored.number(8), to.size(), "bitshuffle");
    settings.block = stored.number(4) / element;
    if (settings.block == 0 || settings.block % 8 != 0)
      damaged("of bitshuffle announces blocks of " + std::to_string(settings.block) + " elements");
  }
  announced(all, to.size(), "bitshuffle");
  std::byte* target = to.data();
  std::size_t unpacked_bytes = std::min(settings.block, all / element) * element;
  const auto unpacked = std::make_unique_for_overwrite<std::byte[]>(2 * unpacked_bytes);
  const std::size_t rest = for_blocks(all, element, settings.block, [&](std::size_t elements) {
    const std::size_t bytes = elements * element;
    std::span<const std::byte> block;
    if (settings.inner == Inner::none) {
      block = stored.part(bytes);
    } else {
      const auto part = stored.part(stored.number(4));
      const std::span<std::byte> room(unpacked.get(), bytes);
      const std::size_t got =
          settings.inner == Inner::lz4 ? lz4_block(part, room) : decode_zstd(part, room, scratch);
      if (got != bytes) damaged("of bitshuffle has a block shorter than announced");
      block = room;
    }
    bit_unshuffle(block, element, unpacked.get() + unpacked_bytes, target);
    target += bytes;
  });
  if (rest > 0) std::memcpy(target, stored.part(rest).data(), rest);
  return all;
}

void require_settings(const ChunkFilter& filter) {
  if (filter.id == static_cast<int>(FilterId::bitshuffle)) bitshuffle_settings(filter);
  if (filter.id == static_cast<int>(FilterId::shuffle) &&
      (filter.values.empty() || filter.values.front() == 0)) {
    throw DataError("has the filter shuffle without an element size; the file is damaged");
  }
}

}  // namespace headrace::inline v1::detail
