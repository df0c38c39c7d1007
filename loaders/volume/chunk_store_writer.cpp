#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/internal/in_order.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/detail/case/value_mapping.h>
#include <headrace/loaders/volume/detail/store/chunk_store_file.h>
#include <headrace/loaders/volume/volume_limits.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

using detail::ChunkEntry;
using detail::ChunkState;
using detail::ChunkStoreHeader;
using detail::NumberRange;
using detail::StoredChunk;
using detail::ValueMapping;

void check(const ChunkStoreOptions& options) {
  const auto refuse = [](const std::string& rule) { throw ConfigError("[pack] " + rule); };
  if (options.file.empty()) refuse("a file to write must be named, got nothing");
  for (const std::int64_t side : options.chunk)
    if (side < 1 || side > 1024)
      refuse("a chunk's sides must be 1 to 1024 voxels, got " + std::to_string(side));
  if (options.level < 1 || options.level > 19)
    refuse("level must be 1 to 19, got " + std::to_string(options.level));
  if (options.threads < 1 || options.threads > 1024)
    refuse("threads must be 1 to 1024, got " + std::to_string(options.threads));
  if (options.dtype) {
    switch (*options.dtype) {
      case DType::uint8:
      case DType::int8:
      case DType::uint16:
      case DType::int16:
      case DType::float16:
      case DType::bfloat16:
      case DType::float32:
        break;
      default:
        refuse("dtype must be uint8, int8, uint16, int16, float16, bfloat16 or float32, got " +
               std::string(name_of(*options.dtype)));
    }
  }
  if (options.clip) {
    const auto& [low, high] = *options.clip;
    if (!std::isfinite(low) || !std::isfinite(high) || !(low < high)) {
      refuse("clip must be a low and a higher value, got " + std::to_string(low) + " and " +
             std::to_string(high));
    }
  }
}

/// What a file begun before must have been made from, and how.
std::uint64_t fingerprint_of(const Volume& from, const ChunkStoreOptions& options) {
  ChunkStoreHeader source{.info = from.info()};
  source.fingerprint = options.source_mark;
  const auto page = source.encode();
  std::string text(reinterpret_cast<const char*>(page.data()), page.size());
  const auto add = [&text](const auto& number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const std::int64_t side : options.chunk)
    add(side);
  add(options.codec);
  add(options.codec == ChunkStoreCodec::zstd ? options.level : 0);
  add(options.dtype.value_or(from.info().dtype));
  if (options.clip) add(*options.clip);
  return hash_name(text + from.name());
}

/// The source in chunks, converted.
class Chunks {
 public:
  Chunks(const Volume& from, const ChunkStoreHeader& header, const ChunkStoreOptions& options)
      : from_(from),
        header_(header),
        cache_(std::make_shared<BlockCache>(std::max(options.memory, from.info().block_bytes()))),
        // The caller's volume outlives this call.
        source_(std::shared_ptr<const Volume>(std::shared_ptr<void>(), &from), cache_) {}

  /// The box of a chunk; parts of it may lie outside the volume.
  VolumeBox box(std::int64_t number) const {
    const VolumeIndex grid = header_.info.grid();
    const VolumeIndex& chunk = header_.info.block;
    VolumeBox box;
    for (std::size_t axis = 4; axis-- > 0; number /= grid[axis]) {
      box.begin[axis] = number % grid[axis] * chunk[axis];
      box.end[axis] = box.begin[axis] + chunk[axis];
    }
    return box;
  }

  /// The source's stored voxels; outside the nearest ones, so that a chunk may be of one value.
  std::vector<std::byte> read(const VolumeBox& box) const {
    const std::size_t voxel = size_of(from_.info().dtype);
    std::vector<std::byte> voxels(static_cast<std::size_t>(voxels_of(box.shape())) * voxel);
    source_.read_box(box, BoxMemory::dense(voxels.data(), box.shape(), voxel),
                     {.rule = Outside::Rule::edge});
    return voxels;
  }

  StoredChunk make(std::int64_t number, const ValueMapping& mapping) const {
    const std::vector<std::byte> voxels = read(box(number));
    if (mapping.kind == ValueMapping::Kind::copy) return detail::pack_chunk(voxels, header_);
    std::vector<std::byte> converted(header_.info.block_bytes());
    try {
      mapping.apply(voxels, converted);
    } catch (const DataError& error) {
      throw DataError("[pack] " + from_.name() + ": " + error.what());
    }
    return detail::pack_chunk(converted, header_);
  }

  void count(ChunkStoreProgress& progress) const {
    const BlockCacheStats stats = cache_->stats();
    progress.source_bytes = stats.bytes_read;
    progress.decoded_bytes = stats.bytes_decoded;
  }

 private:
  const Volume& from_;
  const ChunkStoreHeader& header_;
  std::shared_ptr<BlockCache> cache_;
  CachedVolume source_;
};

/// One run of write_chunk_store().
class PackRun {
 public:
  PackRun(const Volume& from, const ChunkStoreOptions& options)
      : from_(from),
        options_(options),
        header_(header_of(from, options)),
        chunks_(from, header_, options),
        file_(options.file.native()) {
    progress_.all_chunks = static_cast<std::int64_t>(header_.chunks);
  }

  ChunkStoreProgress write() {
    if (!begin()) return progress_;
    progress_.bytes = file_.bytes();
    detail::InOrder<StoredChunk> made(
        {progress_.chunks, progress_.all_chunks, options_.threads, "pack"},
        [this](std::int64_t number) { return chunks_.make(number, mapping_); });
    while (progress_.chunks < progress_.all_chunks) {
      if (options_.stop.stop_requested()) {
        file_.commit();
        return progress_;
      }
      StoredChunk chunk = take(made);
      count(chunk.entry);
      file_.append(std::move(chunk));
      report();
    }
    file_.finish();
    progress_.finished = true;
    return progress_;
  }

 private:
  static ChunkStoreHeader header_of(const Volume& from, const ChunkStoreOptions& options) {
    ChunkStoreHeader header{.info = from.info(), .codec = options.codec};
    if (options.codec == ChunkStoreCodec::zstd)
      header.level = static_cast<std::uint8_t>(options.level);
    header.info.dtype = options.dtype.value_or(from.info().dtype);
    header.info.block[0] = 1;
    for (std::size_t axis = 1; axis < 4; ++axis)
      header.info.block[axis] = std::min(options.chunk[axis - 1], header.info.shape[axis]);
    check_volume(header.info, {}, from.name());
    header.chunks = static_cast<std::uint64_t>(voxels_of(header.info.grid()));
    header.fingerprint = fingerprint_of(from, options);
    return header;
  }

  /// Goes on with what is there, or begins. False when it was stopped before.
  bool begin() {
    const std::optional<ChunkStoreHeader> begun = file_.begun();
    if (begun && begun->fingerprint == header_.fingerprint) {
      header_.info.scale = begun->info.scale;
      header_.info.offset = begun->info.offset;
      if (begun->encode() == header_.encode() && resume()) return true;
    }
    progress_.chunks = progress_.constant = progress_.resumed = 0;
    mapping_ = choose([this] { return scan(); });
    if (options_.stop.stop_requested()) return false;
    header_.info.scale = mapping_.scale;
    header_.info.offset = mapping_.offset;
    file_.begin(header_);
    return true;
  }

  ValueMapping choose(const std::function<NumberRange()>& scan) const {
    try {
      return detail::choose_mapping(from_.info(), {header_.info.dtype, options_.clip}, scan);
    } catch (const DataError& error) {
      throw DataError("[pack] " + from_.name() + ": " + error.what());
    }
  }

  /// The first and the last chunk that are there are made once more: another source of the same
  /// mark, or another release of a codec, would give a file of two kinds.
  bool resume() {
    const std::vector<ChunkEntry>& entries = file_.resume(header_);
    if (entries.empty()) return false;
    // What an earlier run found of the values is in its scale and offset.
    mapping_ = choose([this] { return detail::range_of(header_.info.dtype); });
    mapping_.scale = header_.info.scale;
    mapping_.offset = header_.info.offset;
    for (const std::size_t i : {std::size_t{0}, entries.size() - 1}) {
      ChunkEntry again = chunks_.make(static_cast<std::int64_t>(i), mapping_).entry;
      if (again.state == ChunkState::stored) again.offset = entries[i].offset;
      if (again != entries[i]) return false;
    }
    for (const ChunkEntry& entry : entries)
      count(entry);
    progress_.resumed = progress_.chunks;
    return true;
  }

  /// All stored numbers of the source; of some where it is stopped.
  NumberRange scan() {
    NumberRange range;
    std::mutex mutex;
    progress_.scanning = true;
    const auto look = [&](std::size_t i) {
      if (options_.stop.stop_requested()) return;
      const auto some = detail::range_of(chunks_.read(chunks_.box(static_cast<std::int64_t>(i))),
                                         from_.info().dtype);
      const std::lock_guard lock(mutex);
      range.add(some);
      ++progress_.chunks;
      report();
    };
    detail::in_parallel(header_.chunks, static_cast<std::size_t>(options_.threads),
                        [&] { return look; });
    progress_.scanning = false;
    progress_.chunks = 0;
    return range;
  }

  StoredChunk take(detail::InOrder<StoredChunk>& made) {
    try {
      return made.take();
    } catch (...) {
      file_.commit();
      throw;
    }
  }

  void count(const ChunkEntry& entry) {
    ++progress_.chunks;
    if (entry.state == ChunkState::constant) ++progress_.constant;
  }

  void report() {
    progress_.bytes = file_.bytes();
    chunks_.count(progress_);
    if (options_.on_progress) options_.on_progress(progress_);
  }

  const Volume& from_;
  const ChunkStoreOptions& options_;
  ChunkStoreHeader header_;
  Chunks chunks_;
  detail::ChunkStoreFile file_;
  ValueMapping mapping_;
  ChunkStoreProgress progress_;
};

}  // namespace

ChunkStoreProgress write_chunk_store(const Volume& from, const ChunkStoreOptions& options) {
  check(options);
  return PackRun(from, options).write();
}

}  // namespace headrace::inline v1
