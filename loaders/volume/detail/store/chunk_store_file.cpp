#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/store/chunk_store_file.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1::detail {
namespace {

constexpr std::uint64_t commit_bytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds commit_interval{1};

}  // namespace

std::optional<ChunkStoreHeader> ChunkStoreFile::begun() const {
  std::array<std::byte, ChunkStoreFormat::page> page;
  if (!file_.read(page.data(), page.size(), 0)) return {};
  try {
    return ChunkStoreHeader::decode(page);
  } catch (const DataError&) {
    return {};
  }
}

void ChunkStoreFile::begin(const ChunkStoreHeader& header) {
  header_ = header;
  resumed_.clear();
  chunks_ = 0;
  file_.resize(0);
  file_.resize(header_.data_offset());
  file_.sync();
  const auto page = header_.encode();
  file_.write(page.data(), page.size(), 0);
  end_ = header_.data_offset();
}

const std::vector<ChunkEntry>& ChunkStoreFile::resume(const ChunkStoreHeader& header) {
  header_ = header;
  resumed_.clear();
  end_ = header_.data_offset();
  const std::uint64_t size = file_.size();
  std::array<std::byte, ChunkStoreFormat::entry_bytes> bytes;
  for (chunks_ = 0; chunks_ < header_.chunks; ++chunks_) {
    if (!file_.read(bytes.data(), bytes.size(), entry_offset(chunks_))) break;
    ChunkEntry entry;
    try {
      entry = ChunkEntry::decode(bytes.data());
    } catch (const DataError&) {
      break;
    }
    if (entry.state == ChunkState::missing) break;
    if (entry.state == ChunkState::stored) {
      if (entry.offset != end_ || entry.offset + entry.stored_bytes > size) break;
      end_ += entry.stored_bytes;
    }
    resumed_.push_back(entry);
  }
  file_.resize(end_);
  return resumed_;
}

void ChunkStoreFile::append(StoredChunk chunk) {
  if (chunk.entry.state == ChunkState::stored) {
    chunk.entry.offset = end_;
    file_.write(chunk.bytes.data(), chunk.bytes.size(), end_);
    end_ += chunk.bytes.size();
  }
  const auto entry = chunk.entry.encode();
  entries_.insert(entries_.end(), entry.begin(), entry.end());
  uncommitted_bytes_ += chunk.bytes.size();
  if (uncommitted_bytes_ >= commit_bytes ||
      std::chrono::steady_clock::now() - last_commit_ >= commit_interval)
    commit();
}

void ChunkStoreFile::commit() {
  if (entries_.empty()) return;
  file_.sync();
  file_.write(entries_.data(), entries_.size(), entry_offset(chunks_));
  chunks_ += entries_.size() / ChunkStoreFormat::entry_bytes;
  entries_.clear();
  uncommitted_bytes_ = 0;
  last_commit_ = std::chrono::steady_clock::now();
}

void ChunkStoreFile::finish() {
  commit();
  std::vector<std::byte> some(std::size_t{1} << 20);
  std::uint32_t checksum = 0;
  for (std::uint64_t at = ChunkStoreFormat::page; at < header_.data_offset();) {
    const std::size_t count = std::min<std::uint64_t>(some.size(), header_.data_offset() - at);
    if (!file_.read(some.data(), count, at))
      throw ResourceError("[pack] the index that was written has gone; run it again");
    checksum = store_checksum(std::span(some).first(count), checksum);
    at += count;
  }
  header_.index_checksum = checksum;
  header_.file_bytes = end_;
  file_.resize(end_);
  file_.sync();
  const auto page = header_.encode();
  file_.write(page.data(), page.size(), 0);
  file_.finish();
}

}  // namespace headrace::inline v1::detail
