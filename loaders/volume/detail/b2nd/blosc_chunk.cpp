#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/open_module.h>
#include <headrace/engine/base/printable.h>
#include <headrace/loaders/volume/blosc2_codec_abi.h>
#include <headrace/loaders/volume/detail/b2nd/blosc_chunk.h>

#include <cstring>
#include <string>

namespace headrace::inline v1::detail {
namespace {

constexpr const char* module_file = "headrace_blosc2.so";

constexpr unsigned newest_version = 5;
// Bits of byte 2.
constexpr unsigned shuffled = 1, copied = 2, bit_shuffled = 4, delta = 8;
// Bits of byte 31.
constexpr unsigned dictionary = 1, big_endian = 2, lazy = 8, instrumented = 128;

unsigned blosc_byte(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

std::int32_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  std::int32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

[[noreturn]] void damaged_blosc_chunk(const std::string& what) {
  throw DataError("a Blosc chunk " + what + "; the file is damaged");
}

void require_codec(unsigned flags) {
  const unsigned codec = flags >> 5;
  const bool known = codec == 0 || codec == 1 || codec == 3 || codec == 4;
  if (!known) {
    throw DataError("a Blosc chunk must be of blosclz, lz4, lz4hc, zlib or zstd, got the codec " +
                    std::to_string(codec) + "; write it with one of these");
  }
}

/// The part that Blosc2 added.
void read_extension(std::span<const std::byte> start, BloscHeader& header) {
  require_blosc_filters(start.subspan(16, 6));
  const unsigned flags = blosc_byte(start, 31);
  if ((flags & dictionary) != 0)
    throw DataError("a Blosc chunk must need no dictionary, got one; write it with use_dict off");
  if ((blosc_byte(start, 30) & 1U) != 0)
    throw DataError("a Blosc chunk must have blocks of one size, got blocks of several");
  if ((flags & (big_endian | lazy | instrumented)) != 0)
    damaged_blosc_chunk("has the flags " + std::to_string(flags) + ", which no file has");
  const unsigned special = flags >> 4 & 7U;
  if (special > static_cast<unsigned>(BloscHeader::Special::undefined))
    damaged_blosc_chunk("has the special value " + std::to_string(special) +
                        ", which does not exist");
  header.special = static_cast<BloscHeader::Special>(special);
}

}  // namespace

void require_blosc_filters(std::span<const std::byte> filters) {
  constexpr unsigned delta_filter = 3, last = 4;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const unsigned filter = blosc_byte(filters, i);
    if (filter <= last && filter != delta_filter) continue;
    throw DataError(
        "a Blosc chunk must have the filters shuffle, bitshuffle or truncated "
        "precision, or none, got " +
        (filter == delta_filter ? "delta" : "filter " + std::to_string(filter)) +
        "; write it without");
  }
}

BloscHeader BloscHeader::read(std::span<const std::byte> start, std::size_t decoded) {
  if (start.size() < least_bytes) damaged_blosc_chunk("ends inside its header");
  const unsigned version = blosc_byte(start, 0), flags = blosc_byte(start, 2);
  if (version < 1 || version > newest_version) {
    throw DataError("a Blosc chunk must be of the format 1 to 5, got " + std::to_string(version));
  }
  const std::int32_t bytes = number_at(start, 4), block = number_at(start, 8),
                     stored = number_at(start, 12);
  if (bytes < 0 || static_cast<std::size_t>(bytes) != decoded)
    damaged_blosc_chunk("says that it decodes to " + std::to_string(bytes) + " bytes, it has " +
                        std::to_string(decoded));
  if (block < 1 || (block > bytes && bytes > 0))
    damaged_blosc_chunk("says that its blocks have " + std::to_string(block) + " bytes");
  BloscHeader header{.decoded = decoded,
                     .block = static_cast<std::size_t>(block),
                     .type_size = blosc_byte(start, 3),
                     .plain = (flags & copied) != 0};
  if (header.type_size == 0) damaged_blosc_chunk("says that its type has no bytes");
  const bool extended = (flags & shuffled) != 0 && (flags & bit_shuffled) != 0;
  if (extended) {
    header.bytes = most_bytes;
    if (start.size() < most_bytes) damaged_blosc_chunk("ends inside its header");
    read_extension(start, header);
  } else if ((flags & delta) != 0) {
    throw DataError("a Blosc chunk must not have the filter delta, got it; write it without");
  }
  if (!header.plain) require_codec(flags);
  if (stored < 0 || static_cast<std::size_t>(stored) < header.bytes)
    damaged_blosc_chunk("says that it is stored in " + std::to_string(stored) + " bytes");
  header.stored = static_cast<std::size_t>(stored);
  if (header.plain && header.special == Special::none && header.stored != header.bytes + decoded)
    damaged_blosc_chunk("that is not compressed has another size than what it holds");
  if (header.special == Special::value && header.stored != header.bytes + header.type_size)
    damaged_blosc_chunk("of one value has another size than that value");
  return header;
}

void decode_blosc(std::span<const std::byte> chunk, std::span<std::byte> out) {
  const BloscHeader header = BloscHeader::read(chunk, out.size());
  if (header.stored != chunk.size()) {
    damaged_blosc_chunk("says that it is stored in " + std::to_string(header.stored) +
                        " bytes, it has " + std::to_string(chunk.size()));
  }
  if (header.special != BloscHeader::Special::none)
    throw DataError("a Blosc chunk must hold what it decodes to, got one of a repeated value");
  if (header.plain) {
    if (!out.empty()) std::memcpy(out.data(), chunk.data() + header.bytes, out.size());
    return;
  }
  if (out.empty()) return;
  static const auto codec =
      open_function<HeadraceDecodeBlosc>(module_file, HEADRACE_DECODE_BLOSC_SYMBOL);
  if (codec.call == nullptr) {
    throw ConfigError(std::string("[volume] Blosc: needs the module ") + module_file +
                      ", which cannot be opened (" + codec.reason +
                      "); build with the wheel blosc2, which scripts/setup installs, and put the "
                      "module beside the program");
  }
  char message[128] = {};
  if (codec.call(reinterpret_cast<const std::uint8_t*>(chunk.data()), chunk.size(),
                 reinterpret_cast<std::uint8_t*>(out.data()), out.size(), message,
                 sizeof message) != 0)
    damaged_blosc_chunk("cannot be decoded (" + printable(message) + ")");
}

}  // namespace headrace::inline v1::detail
