#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>
#include <headrace/loaders/volume/detail/voxel/box_copy.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace headrace::inline v1 {

using detail::ChunkEntry;
using detail::ChunkState;
using detail::ChunkStoreFormat;
using detail::ChunkStoreHeader;

struct ChunkStoreVolume::State {
  /// Of a chunk without stored bytes `place` is its voxel.
  struct Chunk {
    std::uint64_t place;
    std::uint32_t bytes;
    std::uint32_t checksum;
  };

  explicit State(const std::filesystem::path& path)
      : name(detail::printable(path.native())), file(path.c_str()) {}

  void open(const VolumeLimits& limits);
  void read_index();
  void add(const ChunkEntry& entry, std::uint64_t& end);
  void read_at(std::uint64_t offset, std::byte* to, std::size_t bytes) const;
  [[noreturn]] void refuse(const std::string& rule) const {
    throw DataError("[volume] " + name + ": " + rule);
  }
  void require(bool holds, const char* rule) const {
    if (!holds) refuse(rule);
  }
  [[noreturn]] void call_failed(const char* what) const;

  std::string name;
  detail::FileDescriptor file;
  detail::FileStamp opened;
  ChunkStoreHeader header;
  std::vector<Chunk> chunks;
  std::unique_ptr<const detail::ChunkCodec> codec;
};

void ChunkStoreVolume::State::call_failed(const char* what) const {
  const int error = errno;
  const std::string text = what + detail::error_text();
  if (error == EMFILE || error == ENFILE || error == ENOMEM)
    throw ResourceError("[volume] " + name + ": " + text + "; raise the limits of the process");
  refuse(text);
}

void ChunkStoreVolume::State::read_at(std::uint64_t offset, std::byte* to,
                                      std::size_t bytes) const {
  const std::int64_t got = detail::pread_all(file.number(), to, bytes, offset);
  if (got < 0) call_failed("cannot be read: ");
  detail::require_unchanged(name, opened, detail::open_stamp(file.number()));
  if (static_cast<std::size_t>(got) != bytes) {
    refuse("must hold " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
           ", ends after " + std::to_string(got));
  }
}

void ChunkStoreVolume::State::open(const VolumeLimits& limits) {
  if (file.number() < 0) call_failed("cannot be opened: ");
  struct stat status {};
  require(::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode),
          "must be a regular file");
  opened = detail::open_stamp(file.number());
  const std::uint64_t size = opened.bytes;
  std::array<std::byte, ChunkStoreFormat::page> page;
  if (size < page.size())
    refuse("must hold at least the header's 4096 bytes, got " + std::to_string(size));
  read_at(0, page.data(), page.size());
  try {
    header = ChunkStoreHeader::decode(page);
  } catch (const DataError& error) {
    refuse(error.what());
  }
  require(header.file_bytes != 0, "chunk store must be finished; run the same pack command again");
  if (header.file_bytes != size) {
    refuse("must be " + std::to_string(header.file_bytes) + " bytes as when it was written, got " +
           std::to_string(size));
  }
  check_volume(header.info, limits, name);
  require(header.info.block[0] == 1, "a chunk must hold one channel");
  for (std::size_t axis = 1; axis < 4; ++axis) {
    require(header.info.block[axis] <= header.info.shape[axis],
            "a chunk must be no larger than the volume");
  }
  const auto chunk_count = static_cast<std::uint64_t>(voxels_of(header.info.grid()));
  if (header.chunks != chunk_count) {
    refuse("must have the " + std::to_string(chunk_count) + " chunks of its shape, got " +
           std::to_string(header.chunks));
  }
  require((size - page.size()) / ChunkStoreFormat::entry_bytes >= chunk_count,
          "file must hold the index of all its chunks");
  read_index();
  codec = std::make_unique<const detail::ChunkCodec>(detail::codec_of(header));
}

/// Block by block, so that memory grows with what is really there.
void ChunkStoreVolume::State::read_index() {
  constexpr std::size_t at_once = 2048;
  std::vector<std::byte> entries(at_once * ChunkStoreFormat::entry_bytes);
  std::uint32_t checksum = 0;
  std::uint64_t end = header.data_offset();
  for (std::uint64_t first = 0; first < header.chunks; first += at_once) {
    const std::uint64_t count = std::min<std::uint64_t>(at_once, header.chunks - first);
    const std::span some = std::span(entries).first(count * ChunkStoreFormat::entry_bytes);
    read_at(ChunkStoreFormat::page + first * ChunkStoreFormat::entry_bytes, some.data(),
            some.size());
    checksum = detail::checksum_of(some, checksum);
    for (std::uint64_t i = 0; i < count; ++i) {
      try {
        add(ChunkEntry::decode(some.data() + i * ChunkStoreFormat::entry_bytes), end);
      } catch (const DataError& error) {
        refuse("chunk " + std::to_string(first + i) + ": " + error.what());
      }
    }
  }
  require(checksum == header.index_checksum,
          "checksum of the index is another: the file is damaged");
  if (end != header.file_bytes) {
    refuse("chunks must end with the file's " + std::to_string(header.file_bytes) +
           " bytes, end at " + std::to_string(end));
  }
  chunks.shrink_to_fit();
}

/// Throws DataError (bare rule).
void ChunkStoreVolume::State::add(const ChunkEntry& entry, std::uint64_t& end) {
  if (entry.state == ChunkState::missing) throw DataError("it must have been written");
  if (entry.state == ChunkState::constant) {
    const std::size_t bits = 8 * size_of(header.info.dtype);
    if (entry.stored_bytes != 0 || entry.checksum != 0 || (bits < 64 && entry.offset >> bits != 0))
      throw DataError("of one value it must have no more than a voxel");
    chunks.push_back({entry.offset, 0, 0});
    return;
  }
  if (entry.stored_bytes == 0 || entry.stored_bytes > header.info.block_bytes()) {
    throw DataError("it must be stored in 1 to " + std::to_string(header.info.block_bytes()) +
                    " bytes, got " + std::to_string(entry.stored_bytes));
  }
  if (entry.offset != end || entry.stored_bytes > header.file_bytes - end) {
    throw DataError("it must lie at " + std::to_string(end) + " inside the file, got " +
                    std::to_string(entry.stored_bytes) + " bytes at " +
                    std::to_string(entry.offset));
  }
  end += entry.stored_bytes;
  chunks.push_back({entry.offset, entry.stored_bytes, entry.checksum});
}

ChunkStoreVolume::ChunkStoreVolume(const std::filesystem::path& file, const VolumeLimits& limits)
    : ChunkStoreVolume([&] {
        auto state = std::make_unique<State>(file);
        state->open(limits);
        return state;
      }()) {}

ChunkStoreVolume::ChunkStoreVolume(std::unique_ptr<const State> state)
    : Volume(state->header.info, state->name), state_(std::move(state)) {}

ChunkStoreVolume::~ChunkStoreVolume() = default;

bool ChunkStoreVolume::recognises(std::span<const std::byte> beginning) noexcept {
  constexpr auto& magic = ChunkStoreFormat::magic;
  return beginning.size() >= magic.size() &&
         std::memcmp(beginning.data(), magic.data(), magic.size()) == 0;
}

std::uint64_t ChunkStoreVolume::read_block(const VolumeIndex& place,
                                           std::span<std::byte> out) const {
  const VolumeIndex grid = info().grid();
  const auto number = static_cast<std::size_t>(
      ((place[0] * grid[1] + place[1]) * grid[2] + place[2]) * grid[3] + place[3]);
  const State::Chunk& chunk = state_->chunks[number];
  if (chunk.bytes == 0) {
    const std::size_t voxel = size_of(info().dtype);
    std::array<std::byte, 8> value;
    std::memcpy(value.data(), &chunk.place, value.size());
    detail::fill_voxels(out.data(), static_cast<std::int64_t>(out.size() / voxel), value.data(),
                        voxel);
    return 0;
  }
  thread_local detail::CodecScratch scratch;
  const bool plain = chunk.bytes == out.size();
  const std::span<std::byte> stored = plain ? out : scratch.stored.take(chunk.bytes);
  state_->read_at(chunk.place, stored.data(), stored.size());
  const std::string who = "chunk " + std::to_string(number) + " of " + std::to_string(chunk.bytes) +
                          " bytes at " + std::to_string(chunk.place);
  if (detail::checksum_of(stored) != chunk.checksum)
    state_->refuse(who + ": its checksum is another: the file is damaged; copy it again");
  if (plain) return chunk.bytes;
  try {
    state_->codec->decode(stored, 0, out, scratch);
  } catch (const DataError& error) {
    state_->refuse(who + ": " + error.what());
  }
  return chunk.bytes;
}

std::size_t ChunkStoreVolume::working_bytes() const {
  return codec() == ChunkStoreCodec::raw ? 0
                                         : info().block_bytes() + 2 * state_->codec->most_stored();
}

std::size_t ChunkStoreVolume::resident_bytes() const {
  return state_->chunks.capacity() * sizeof(State::Chunk);
}

ChunkStoreCodec ChunkStoreVolume::codec() const noexcept {
  return state_->header.codec;
}

}  // namespace headrace::inline v1
