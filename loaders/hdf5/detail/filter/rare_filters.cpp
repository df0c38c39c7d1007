#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/filter/rare_filters.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" {  // the header does not say so
#include <szlib.h>
}

namespace headrace::inline v1::detail {
namespace {

constexpr int szip = 4, n_bit = 5, scale_offset = 6;

[[noreturn]] void lie(const char* filter) {
  throw DataError(std::string("is stored with the filter ") + filter +
                  ", whose settings are not those of its chunks; the file is damaged");
}

[[noreturn]] void lies(const char* filter, std::size_t bytes) {
  throw DataError(std::string("a chunk of ") + std::to_string(bytes) +
                  " bytes cannot be what the filter " + filter +
                  " makes of one; the file is damaged");
}

std::uint32_t number(std::span<const std::byte> stored) {
  std::uint32_t value = 0;
  std::memcpy(&value, stored.data(), sizeof(value));
  return value;
}

/// Scale-offset: how, by how much, elements, class (0 integer, 1 float), size, sign, order, fill.
struct ScaleOffset {
  std::uint64_t elements, size;
  bool right;

  static ScaleOffset of(const std::vector<std::uint32_t>& values) {
    if (values.size() < 8) return {};
    const std::uint32_t how = values[0], by = values[1], kind = values[3], size = values[4];
    const bool integer = kind == 0 && how == 2 && by <= 8 * size &&
                         (size == 1 || size == 2 || size == 4 || size == 8);
    const bool floating = kind == 1 && how == 0 && (size == 4 || size == 8);
    return {values[2], size, (integer || floating) && values[5] <= 1 && values[6] <= 1};
  }
};

/// Its chunk: the bits of an element (4 bytes), the size of the least value (1), that (8), zeros to
/// byte 21, then the elements' bits, and a byte where they need fewer than they have.
void require_scale_offset(const ChunkFilter& filter, std::span<const std::byte> stored) {
  constexpr std::uint64_t before = 21;
  const auto [elements, size, right] = ScaleOffset::of(filter.values);
  if (stored.size() <= before) lies("scale-offset", stored.size());
  const std::uint64_t bits = number(stored);
  const std::uint64_t least = before + (elements * bits + 7) / 8;
  if (bits > 8 * size || stored[4] != std::byte{8} || stored.size() < least ||
      stored.size() > least + 1)
    lies("scale-offset", stored.size());
}

/// N-bit: number of settings, whether there is nothing to do, elements, then the type: 1 a number
/// (size, order, precision, offset), 2 an array (size, the type of its elements), 4 bytes (size).
struct NBit {
  std::uint64_t elements = 0, size = 0, bits = 0;  ///< the last two of an element
  bool right = false;

  static NBit of(const std::vector<std::uint32_t>& values) {
    if (values.size() < 5 || values[0] != values.size()) return {};
    NBit all = type(std::span(values).subspan(3), 0);
    all.elements = values[2];
    return all;
  }

 private:
  static NBit type(std::span<const std::uint32_t> values, int depth) {
    constexpr int most_depth = 8;
    if (values.size() < 2 || values[1] == 0 || depth > most_depth) return {};
    const std::uint64_t size = values[1];
    if (values[0] == 4) return {.size = size, .bits = 8 * size, .right = true};
    if (values[0] == 1 && values.size() >= 5) {
      const std::uint64_t precision = values[3], offset = values[4];
      return {.size = size,
              .bits = precision,
              .right = values[2] <= 1 && precision > 0 && precision + offset <= 8 * size};
    }
    if (values[0] != 2) return {};  // of several members: no field can be
    const NBit element = type(values.subspan(2), depth + 1);
    if (!element.right || size % element.size != 0) return {};
    return {.size = size, .bits = size / element.size * element.bits, .right = true};
  }
};

void require_n_bit(const ChunkFilter& filter, std::span<const std::byte> stored) {
  const NBit all = NBit::of(filter.values);
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(all.elements, all.bits, &bits) || stored.size() < (bits + 7) / 8)
    lies("n-bit", stored.size());
}

/// Szip: how, numbers in a block, bits of a number, numbers in a line of blocks.
bool szip_settings_right(const std::vector<std::uint32_t>& values) {
  if (values.size() < 4) return false;
  const std::uint32_t block = values[1], bits = values[2], line = values[3];
  return block >= 2 && block <= SZ_MAX_PIXELS_PER_BLOCK && block % 2 == 0 && bits >= 1 &&
         (bits <= 32 || bits == 64) && line >= block && line <= block * SZ_MAX_BLOCKS_PER_SCANLINE;
}

/// Its chunk: the size of what it was (4 bytes), then the code, which may end too soon.
void require_szip(const ChunkFilter& filter, std::span<const std::byte> stored, std::size_t bytes) {
  if (stored.size() <= 4 || bytes == 0 || number(stored) != bytes) lies("szip", stored.size());
  SZ_com_t settings{.options_mask = static_cast<int>(filter.values[0]),
                    .bits_per_pixel = static_cast<int>(filter.values[2]),
                    .pixels_per_block = static_cast<int>(filter.values[1]),
                    .pixels_per_scanline = static_cast<int>(filter.values[3])};
  std::vector<std::byte> chunk(bytes);
  std::size_t decoded = bytes;
  const int result = SZ_BufftoBuffDecompress(chunk.data(), &decoded, stored.data() + 4,
                                             stored.size() - 4, &settings);
  if (result != SZ_OK || decoded != bytes) lies("szip", stored.size());
}

}  // namespace

bool does_nothing(const ChunkFilter& filter) noexcept {
  const auto& values = filter.values;
  if (filter.id == n_bit) return values.size() >= 3 && values[1] != 0;
  return filter.id == scale_offset && values.size() >= 5 && values[3] == 0 && values[1] > 0 &&
         values[1] == 8 * values[4];
}

void require_rare_settings(const ChunkFilter& filter, std::size_t chunk_bytes) {
  if (does_nothing(filter)) return;
  std::uint64_t bytes = 0;
  if (filter.id == scale_offset) {
    const ScaleOffset all = ScaleOffset::of(filter.values);
    if (!all.right || __builtin_mul_overflow(all.elements, all.size, &bytes) ||
        bytes != chunk_bytes)
      lie("scale-offset");
  }
  if (filter.id == szip && !szip_settings_right(filter.values)) lie("szip");
  if (filter.id == n_bit) {
    const NBit all = NBit::of(filter.values);
    if (!all.right || __builtin_mul_overflow(all.elements, all.size, &bytes) ||
        bytes != chunk_bytes)
      lie("n-bit");
  }
}

void require_rare_chunk(const ChunkFilter& filter, std::span<const std::byte> stored,
                        std::size_t bytes) {
  if (filter.id == scale_offset) require_scale_offset(filter, stored);
  if (filter.id == n_bit) require_n_bit(filter, stored);
  if (filter.id == szip) require_szip(filter, stored, bytes);
}

}  // namespace headrace::inline v1::detail
