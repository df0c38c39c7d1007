#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>
#include <headrace/loaders/volume/detail/b2nd/b2nd_frame.h>
#include <headrace/loaders/volume/detail/b2nd/blosc_chunk.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

using Bytes = std::span<const std::byte>;

// Where the header of a frame keeps what.
constexpr std::size_t least_header = 87, at_header_size = 11, at_frame_size = 16, at_flags = 25,
                      at_type = 26, at_bytes = 30, at_stored = 39, at_type_size = 48,
                      at_block_size = 53, at_chunk_size = 58, at_filters = 71, at_more_flags = 85;

[[noreturn]] void damaged_frame(const std::string& what) {
  throw DataError(what + "; the file is damaged");
}

unsigned frame_byte(Bytes bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

/// Takes what MessagePack stores, big-endian, off the front.
class Unpacker {
 public:
  explicit Unpacker(Bytes bytes) : bytes_(bytes) {}

  Bytes part(std::size_t bytes) {
    if (bytes > bytes_.size()) damaged_frame("the header of the frame ends early");
    const Bytes taken = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : part(bytes))
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    return value;
  }
  /// The byte before a value that says of what kind it is.
  void marker(unsigned expected) {
    const auto got = static_cast<unsigned>(number(1));
    if (got != expected) {
      damaged_frame("the header of the frame must have the marker " + std::to_string(expected) +
                    ", got " + std::to_string(got));
    }
  }

 private:
  Bytes bytes_;
};

std::uint64_t number_at(Bytes bytes, std::size_t at, std::size_t size) {
  return Unpacker(bytes.subspan(at)).number(size);
}

/// A signed number that must not be below 0.
std::uint64_t size_at(Bytes bytes, std::size_t at, std::size_t size, const char* what) {
  const std::uint64_t value = number_at(bytes, at, size);
  if (value >> (8 * size - 1) != 0) damaged_frame(std::string(what) + " of the frame is below 0");
  return value;
}

void require_kind(Bytes header) {
  constexpr std::string_view magic("b2frame\0", 8);
  if (std::memcmp(header.data() + 2, magic.data(), magic.size()) != 0)
    throw DataError("must be a Blosc2 frame, it does not begin as one");
  const unsigned version = frame_byte(header, at_flags) & 15U;
  if (version < 1 || version > 2) {
    throw DataError("the frame must be of version 1 or 2, got " + std::to_string(version));
  }
  if ((frame_byte(header, at_flags) >> 4) != 1)
    throw DataError("the frame must have chunks of one size and places of 64 bits, got the flags " +
                    std::to_string(frame_byte(header, at_flags)));
  if (frame_byte(header, at_type) != 0)
    throw DataError("the frame must be one file (contiguous), got the type " +
                    std::to_string(frame_byte(header, at_type)));
  require_blosc_filters(header.subspan(at_filters, 6));
  if ((frame_byte(header, at_more_flags) & 1U) != 0)
    throw DataError("the chunks must need no dictionary, got one; write them with use_dict off");
}

/// The header, with all its metalayers.
std::vector<std::byte> read_header(const StoreFile& file, const VolumeLimits& limits) {
  std::vector<std::byte> header(least_header);
  if (file.bytes() < least_header)
    throw DataError("must be a Blosc2 frame, got a file of " + std::to_string(file.bytes()) +
                    " bytes");
  file.read(0, header);
  require_kind(header);
  const std::uint64_t size = size_at(header, at_header_size, 4, "the header");
  const std::uint64_t frame = number_at(header, at_frame_size, 8);
  if (frame > file.bytes()) {
    damaged_frame("the frame must have " + std::to_string(frame) + " bytes, the file has " +
                  std::to_string(file.bytes()));
  }
  if (size < least_header || size > frame || size > limits.metadata_bytes)
    damaged_frame("the header of the frame says that it has " + std::to_string(size) + " bytes");
  header.resize(static_cast<std::size_t>(size));
  file.read(0, header);
  return header;
}

/// The content of the metalayer "b2nd".
Bytes find_metalayer(Bytes header) {
  constexpr std::size_t most_layers = 16;
  Unpacker layers(header.subspan(least_header));
  layers.marker(0x93);
  layers.marker(0xcd);
  layers.number(2);
  layers.marker(0xde);
  const std::uint64_t count = layers.number(2);
  if (count > most_layers)
    damaged_frame("the frame says that it has " + std::to_string(count) + " layers of metadata");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::size_t>(layers.number(1));
    if (length >> 5 != 5) damaged_frame("a layer of metadata has no name");
    const Bytes name = layers.part(length & 31U);
    layers.marker(0xd2);
    const std::uint64_t at = layers.number(4);
    if (name.size() != 4 || std::memcmp(name.data(), "b2nd", 4) != 0) continue;
    if (at >= header.size()) damaged_frame("the layer \"b2nd\" lies behind the header");
    Unpacker content(header.subspan(static_cast<std::size_t>(at)));
    content.marker(0xc6);
    const std::uint64_t bytes = content.number(4);
    return content.part(static_cast<std::size_t>(bytes));
  }
  throw DataError("must be an array (.b2nd), got a frame without the layer \"b2nd\"");
}

/// A list of extents, of `bytes` bytes each.
std::vector<std::int64_t> extents(Unpacker& from, std::size_t rank, std::size_t bytes,
                                  const char* what) {
  from.marker(0x90 + static_cast<unsigned>(rank));
  std::vector<std::int64_t> all;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    from.marker(bytes == 8 ? 0xd3 : 0xd2);
    const std::uint64_t extent = from.number(bytes);
    if (extent == 0 || extent >> (8 * bytes - 1) != 0)
      damaged_frame(std::string(what) + " must have extents from 1 on, got " +
                    std::to_string(static_cast<std::int64_t>(extent)));
    all.push_back(static_cast<std::int64_t>(extent));
  }
  return all;
}

void read_array(Bytes content, B2ndFrame& frame) {
  Unpacker layer(content);
  layer.marker(0x97);
  layer.marker(0);  // its version
  const auto rank = static_cast<std::size_t>(layer.number(1));
  if (rank < 2 || rank > ArrayAxes::most_rank) {
    throw DataError("the array must have 2 to 5 axes (t, c, z, y, x), got " + std::to_string(rank));
  }
  frame.shape = extents(layer, rank, 8, "the shape");
  frame.chunk = extents(layer, rank, 4, "a chunk");
  frame.block = extents(layer, rank, 4, "a block");
  layer.marker(0);  // NumPy's names of types
  layer.marker(0xdb);
  const Bytes name = layer.part(static_cast<std::size_t>(layer.number(4)));
  frame.type = numpy_type(std::string(reinterpret_cast<const char*>(name.data()), name.size()));
}

/// Multiplies where the product is at most `most`.
std::size_t multiplied(std::size_t a, std::int64_t b, std::size_t most, const char* what) {
  if (static_cast<std::uint64_t>(b) > most / a)
    throw DataError(std::string(what) + " must be at most " + std::to_string(most) + ", got more");
  return a * static_cast<std::size_t>(b);
}

/// Sizes of blocks and chunks; how many chunks there are.
std::size_t read_sizes(Bytes header, const VolumeLimits& limits, B2ndFrame& frame) {
  constexpr std::size_t most_chunk = std::numeric_limits<std::int32_t>::max();
  frame.block_bytes = frame.type.size();
  frame.blocks = 1;
  std::size_t chunks = 1;
  for (std::size_t axis = 0; axis < frame.shape.size(); ++axis) {
    if (frame.block[axis] > frame.chunk[axis])
      damaged_frame("a block must be part of its chunk, got " + std::to_string(frame.block[axis]) +
                    " of " + std::to_string(frame.chunk[axis]) + " elements");
    frame.block_bytes = multiplied(frame.block_bytes, frame.block[axis],
                                   std::min(limits.block_bytes, most_chunk), "bytes of a block");
    frame.blocks = multiplied(frame.blocks, frame.blocks_along(axis), limits.metadata_bytes / 8,
                              "blocks of a chunk");
    chunks = multiplied(chunks, frame.chunks_along(axis), limits.metadata_bytes / 8, "chunks");
  }
  if (frame.blocks > most_chunk / frame.block_bytes)
    damaged_frame("a chunk must have less than 2 GiB, got more");
  const auto told = [&](std::size_t at, std::size_t size, const char* what, std::size_t is) {
    if (number_at(header, at, size) != is)
      damaged_frame(std::string(what) + " of the frame must be the array's " + std::to_string(is) +
                    ", got " + std::to_string(number_at(header, at, size)));
  };
  told(at_type_size, 4, "the type's size", frame.type.size());
  told(at_block_size, 4, "the size of a block", frame.block_bytes);
  told(at_chunk_size, 4, "the size of a chunk", frame.chunk_bytes());
  told(at_bytes, 8, "the size", chunks * frame.chunk_bytes());
  return chunks;
}

/// The index is a chunk of its own behind the others.
std::vector<std::int64_t> read_offsets(const StoreFile& file, std::size_t chunks,
                                       const B2ndFrame& frame, const VolumeLimits& limits) {
  const std::uint64_t left = file.bytes() - frame.chunks_end;
  std::vector<std::byte> start(
      static_cast<std::size_t>(std::min<std::uint64_t>(left, BloscHeader::most_bytes)));
  file.read(frame.chunks_end, start);
  std::vector<std::int64_t> offsets(chunks);
  const auto header = BloscHeader::read(start, chunks * sizeof(std::int64_t));
  if (header.stored > left || header.stored > limits.metadata_bytes)
    damaged_frame("the index of chunks says that it has " + std::to_string(header.stored) +
                  " bytes");
  std::vector<std::byte> stored(header.stored);
  file.read(frame.chunks_end, stored);
  const auto out = std::as_writable_bytes(std::span(offsets));
  if (header.special == BloscHeader::Special::none) {
    decode_blosc(stored, out);
  } else if (header.special == BloscHeader::Special::value) {
    VoxelBytes value{};
    if (header.type_size != value.size())
      damaged_frame("the index of chunks has a value of another size");
    std::memcpy(value.data(), stored.data() + header.bytes, value.size());
    fill_voxels(value, value.size(), out.data(), out.size());
  } else if (header.special != BloscHeader::Special::zero) {
    damaged_frame("the index of chunks has no places");
  }
  return offsets;
}

}  // namespace

B2ndFrame read_b2nd_frame(const StoreFile& file, const VolumeLimits& limits) {
  const std::vector<std::byte> header = read_header(file, limits);
  B2ndFrame frame;
  read_array(find_metalayer(header), frame);
  const std::size_t chunks = read_sizes(header, limits, frame);
  const std::uint64_t stored = size_at(header, at_stored, 8, "the size of the chunks");
  frame.chunks_begin = header.size();
  if (stored > file.bytes() - header.size()) {
    damaged_frame("the chunks must have " + std::to_string(stored) + " bytes, the file has " +
                  std::to_string(file.bytes()));
  }
  frame.chunks_end = frame.chunks_begin + stored;
  frame.offsets = read_offsets(file, chunks, frame, limits);
  return frame;
}

}  // namespace headrace::inline v1::detail
