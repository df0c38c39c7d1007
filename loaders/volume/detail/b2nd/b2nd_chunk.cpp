#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/b2nd/b2nd_chunk.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::detail {
namespace {

// What describes a chunk: its kind, its header, then its value or a word for each block, where it
// begins in the chunk and how many bytes it has there.
enum Kind : std::uint64_t { in_blocks, plain, one_value };
constexpr std::size_t header_words = BloscHeader::most_bytes / 8, first_block = 1 + header_words;

[[noreturn]] void damaged_b2nd_chunk(const std::string& what) {
  throw DataError(what + "; the file is damaged");
}

std::uint64_t packed(std::uint64_t begin, std::uint64_t bytes) {
  return begin << 32 | bytes;
}

/// Where each block begins, and how far it is to the next one that begins behind it.
void add_blocks(const std::vector<std::uint32_t>& begins, const BloscHeader& header,
                KeptIndexes::Index& words) {
  const std::size_t first = header.bytes + begins.size() * sizeof(std::uint32_t);
  std::vector<std::uint32_t> sorted = begins;
  std::sort(sorted.begin(), sorted.end());
  for (const std::uint32_t begin : begins) {
    if (begin < first || begin >= header.stored)
      damaged_b2nd_chunk("a block begins at byte " + std::to_string(begin) + " of a chunk of " +
                         std::to_string(header.stored));
    const auto next = std::upper_bound(sorted.begin(), sorted.end(), begin);
    const std::uint64_t end = next == sorted.end() ? header.stored : *next;
    words.push_back(packed(begin, end - begin));
  }
}

/// A value that is no number, in the byte order of the file.
VoxelBytes no_number(const VoxelType& type) {
  if (is_integer(type.dtype)) damaged_b2nd_chunk("a chunk of whole numbers is said to hold none");
  VoxelBytes value = fill_value(nlohmann::json("NaN"), type.dtype);
  if (type.swap) reverse_bytes(value.data(), 1, type.size());
  return value;
}

/// What a header says that all of a chunk is.
VoxelBytes value_of(const StoreFile& file, std::uint64_t at, const BloscHeader& header,
                    const VoxelType& type, std::uint64_t& bytes_read) {
  VoxelBytes value{};
  if (header.special == BloscHeader::Special::nan) return no_number(type);
  if (header.special != BloscHeader::Special::value) return value;
  if (header.type_size != type.size())
    damaged_b2nd_chunk("a chunk has a value of another size than its type");
  file.read(at + header.bytes, std::span(value).first(type.size()));
  bytes_read += type.size();
  return value;
}

/// The header of a chunk that must have its blocks, and be among the others.
BloscHeader read_header(const StoreFile& file, const B2ndFrame& frame, std::uint64_t at,
                        std::span<std::byte> bytes) {
  if (at + BloscHeader::most_bytes > frame.chunks_end)
    damaged_b2nd_chunk("a chunk begins at byte " + std::to_string(at) + ", the chunks end at " +
                       std::to_string(frame.chunks_end));
  file.read(at, bytes);
  const auto header = BloscHeader::read(bytes, frame.chunk_bytes());
  if (header.bytes != BloscHeader::most_bytes)
    damaged_b2nd_chunk("a chunk must be of Blosc2, got one of Blosc1");
  if (header.stored > frame.chunks_end - at)
    damaged_b2nd_chunk("a chunk from byte " + std::to_string(at) + " on has " +
                       std::to_string(header.stored) + " bytes, the chunks end at " +
                       std::to_string(frame.chunks_end));
  if (header.special == BloscHeader::Special::none && header.block != frame.block_bytes)
    damaged_b2nd_chunk("a block of a chunk must have the array's " +
                       std::to_string(frame.block_bytes) + " bytes, got " +
                       std::to_string(header.block));
  if (header.special == BloscHeader::Special::none && !header.plain &&
      header.stored < header.bytes + frame.blocks * sizeof(std::uint32_t))
    damaged_b2nd_chunk("a chunk ends before its blocks begin");
  return header;
}

}  // namespace

KeptIndexes::Index B2ndChunk::describe(const StoreFile& file, const B2ndFrame& frame,
                                       std::int64_t offset, std::uint64_t& bytes_read) {
  const auto stored = frame.chunks_end - frame.chunks_begin;
  if (static_cast<std::uint64_t>(offset) >= stored)
    damaged_b2nd_chunk("a chunk begins at byte " + std::to_string(offset) + " of " +
                       std::to_string(stored));
  const std::uint64_t at = frame.chunks_begin + static_cast<std::uint64_t>(offset);
  KeptIndexes::Index words(first_block);
  const auto start = std::as_writable_bytes(std::span(words).subspan(1));
  const BloscHeader header = read_header(file, frame, at, start);
  bytes_read += start.size();
  if (header.special != BloscHeader::Special::none) {
    words[0] = one_value;
    const VoxelBytes value = value_of(file, at, header, frame.type, bytes_read);
    words.emplace_back();
    std::memcpy(&words.back(), value.data(), value.size());
  } else if (header.plain) {
    words[0] = plain;
  } else {
    words[0] = in_blocks;
    std::vector<std::uint32_t> begins(frame.blocks);
    const auto bytes = std::as_writable_bytes(std::span(begins));
    file.read(at + header.bytes, bytes);
    bytes_read += bytes.size();
    words.reserve(first_block + begins.size());
    add_blocks(begins, header, words);
  }
  return words;
}

std::uint64_t B2ndChunk::read_block(const StoreFile& file, std::size_t block,
                                    std::span<std::byte> out, CodecScratch& scratch) const {
  const std::uint64_t at = frame_.chunks_begin + static_cast<std::uint64_t>(offset_);
  if (words_[0] == one_value) {
    VoxelBytes value{};
    std::memcpy(value.data(), &words_[first_block], value.size());
    fill_voxels(value, frame_.type.size(), out.data(), out.size());
    return 0;
  }
  if (words_[0] == plain) {
    file.read(at + BloscHeader::most_bytes + block * frame_.block_bytes, out);
    return out.size();
  }
  const std::uint64_t word = words_[first_block + block];
  const auto begin = word >> 32, bytes = word & 0xffffffffU;
  if (bytes > 2 * out.size() + (std::size_t{64} << 10))
    damaged_b2nd_chunk("a block of " + std::to_string(out.size()) + " bytes is stored in " +
                       std::to_string(bytes));
  // A chunk of that block alone.
  constexpr std::size_t before = BloscHeader::most_bytes + sizeof(std::uint32_t);
  const auto chunk = scratch.stored.take(before + static_cast<std::size_t>(bytes));
  const auto number = [&](std::size_t place, std::size_t value) {
    const auto small = static_cast<std::uint32_t>(value);
    std::memcpy(chunk.data() + place, &small, sizeof(small));
  };
  std::memcpy(chunk.data(), &words_[1], BloscHeader::most_bytes);
  number(4, out.size());
  number(8, out.size());
  number(12, chunk.size());
  number(BloscHeader::most_bytes, before);
  file.read(at + begin, chunk.subspan(before));
  decode_blosc(chunk, out);
  return bytes;
}

void fill_b2nd_block(const B2ndFrame& frame, std::int64_t offset, std::span<std::byte> out) {
  const auto special = static_cast<std::uint64_t>(offset) >> 56 & 127U;
  VoxelBytes value{};
  if (special == static_cast<unsigned>(BloscHeader::Special::nan)) {
    value = no_number(frame.type);
  } else if (special != static_cast<unsigned>(BloscHeader::Special::zero) &&
             special != static_cast<unsigned>(BloscHeader::Special::undefined)) {
    damaged_b2nd_chunk("a chunk has the special value " + std::to_string(special) +
                       ", which does not exist");
  }
  fill_voxels(value, frame.type.size(), out.data(), out.size());
}

}  // namespace headrace::inline v1::detail
