#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/filter/filters.h>
#include <headrace/loaders/hdf5/detail/filter/rare_filters.h>
#include <headrace/loaders/hdf5/internal/chunk_codec.h>

#include <bit>
#include <cstring>
#include <new>

#include <libdeflate.h>
#include <zstd.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t most_filters = 32;  // the bits of a mask; the library's own limit

/// Bytes between two filters: what a writer's filters make of a chunk is never larger.
std::size_t most_between(std::size_t chunk_bytes) {
  return 2 * chunk_bytes + (std::size_t{64} << 10);
}

using Undo = std::size_t (*)(const ChunkFilter&, std::span<const std::byte>, std::span<std::byte>,
                             CodecScratch&);

Undo undo_of(int id) noexcept {
  switch (static_cast<FilterId>(id)) {
    case FilterId::deflate:
      return &undo_deflate;
    case FilterId::shuffle:
      return &undo_shuffle;
    case FilterId::lzf:
      return &undo_lzf;
    case FilterId::lz4:
      return &undo_lz4;
    case FilterId::bitshuffle:
      return &undo_bitshuffle;
    case FilterId::zstd:
      return &undo_zstd;
    case FilterId::fletcher32:
      break;
  }
  return nullptr;
}

}  // namespace

std::span<std::byte> ScratchBytes::take(std::size_t bytes) {
  if (size_ < bytes) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    size_ = bytes;
  }
  return {memory_.get(), bytes};
}

CodecScratch::CodecScratch() : deflate(libdeflate_alloc_decompressor()), zstd(ZSTD_createDCtx()) {
  if (deflate != nullptr && zstd != nullptr) return;
  libdeflate_free_decompressor(deflate);
  ZSTD_freeDCtx(zstd);
  throw std::bad_alloc();
}

CodecScratch::~CodecScratch() {
  libdeflate_free_decompressor(deflate);
  ZSTD_freeDCtx(zstd);
}

ChunkCodec::ChunkCodec(std::vector<ChunkFilter> filters, std::size_t chunk_bytes)
    : filters_(std::move(filters)), chunk_bytes_(chunk_bytes) {
  if (filters_.size() > most_filters) {
    throw DataError("has " + std::to_string(filters_.size()) +
                    " filters, the format allows 32; the file is damaged");
  }
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    require_settings(filters_[i]);
    require_rare_settings(filters_[i], chunk_bytes_);
    if (!does_nothing(filters_[i])) working_ |= std::uint32_t{1} << i;
  }
}

bool ChunkCodec::knows(int filter) noexcept {
  return filter == static_cast<int>(FilterId::fletcher32) || undo_of(filter) != nullptr;
}

std::size_t ChunkCodec::most_stored() const noexcept {
  return most_between(chunk_bytes_);
}

void ChunkCodec::decode(std::span<const std::byte> stored, std::uint32_t skipped,
                        std::span<std::byte> out, CodecScratch& scratch) const {
  const std::span<const std::byte> chunk = undo(applied(skipped), stored, out, scratch);
  require_whole(chunk);
  if (!out.empty() && chunk.data() != out.data()) std::memcpy(out.data(), chunk.data(), out.size());
}

void ChunkCodec::check(std::span<const std::byte> stored, std::uint32_t skipped,
                       CodecScratch& scratch) const {
  const std::uint32_t filters = applied(skipped);
  std::uint32_t rare = 0;
  for (std::size_t i = 0; i < filters_.size(); ++i)
    if (!knows(filters_[i].id)) rare |= filters & std::uint32_t{1} << i;
  if (rare == 0) return require_whole(undo(filters, stored, {}, scratch));
  const auto last = static_cast<std::size_t>(std::bit_width(rare)) - 1;
  const auto behind = static_cast<std::uint32_t>(filters & ~((std::uint64_t{2} << last) - 1));
  require_rare_chunk(filters_[last], undo(behind, stored, {}, scratch),
                     bytes_before(last, filters));
}

/// What one of the filters was given of a chunk when it was written; 0: cannot be told.
std::size_t ChunkCodec::bytes_before(std::size_t filter, std::uint32_t filters) const noexcept {
  std::size_t bytes = chunk_bytes_;
  for (std::size_t i = 0; i < filter; ++i) {
    if ((filters >> i & 1U) == 0) continue;
    const auto id = static_cast<FilterId>(filters_[i].id);
    if (id == FilterId::fletcher32)
      bytes += 4;
    else if (id != FilterId::shuffle)
      return 0;
  }
  return bytes;
}

ChunkCodec::Apart ChunkCodec::decode_apart(std::span<const std::byte> stored, std::uint32_t skipped,
                                           std::size_t unit, CodecScratch& scratch) const {
  std::uint32_t filters = applied(skipped);
  std::size_t element = 1;
  if (filters != 0) {
    const ChunkFilter& first = filters_[static_cast<std::size_t>(std::countr_zero(filters))];
    if (first.id == static_cast<int>(FilterId::shuffle) && unit % first.values.front() == 0) {
      element = first.values.front();
      filters &= filters - 1;
    }
  }
  const std::span<const std::byte> chunk = undo(filters, stored, {}, scratch);
  require_whole(chunk);
  return {chunk, element};
}

std::uint32_t ChunkCodec::applied(std::uint32_t skipped) const noexcept {
  return working_ & ~skipped;
}

/// Undoes those filters, the last one first; the last step writes to `out` where there is one.
std::span<const std::byte> ChunkCodec::undo(std::uint32_t filters,
                                            std::span<const std::byte> stored,
                                            std::span<std::byte> out, CodecScratch& scratch) const {
  std::span<const std::byte> now = stored;
  ScratchBytes* next = &scratch.one;
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if ((filters >> i & 1U) == 0) continue;
    filters &= ~(std::uint32_t{1} << i);
    const ChunkFilter& filter = filters_[i];
    const Undo undo_one = undo_of(filter.id);
    if (undo_one == nullptr) {
      now = checked_fletcher32(now);
      continue;
    }
    // Only a checksum that comes before it makes the input of the last step larger than a chunk.
    const bool last = filters == 0 && !out.empty();
    const std::span<std::byte> to = last ? out : next->take(most_between(chunk_bytes_));
    now = to.first(undo_one(filter, now, to, scratch));
    next = next == &scratch.one ? &scratch.other : &scratch.one;
  }
  return now;
}

void ChunkCodec::require_whole(std::span<const std::byte> chunk) const {
  if (chunk.size() == chunk_bytes_) return;
  throw DataError("a chunk decodes to " + std::to_string(chunk.size()) + " bytes, it has " +
                  std::to_string(chunk_bytes_) + "; the file is damaged");
}

}  // namespace headrace::inline v1::detail
