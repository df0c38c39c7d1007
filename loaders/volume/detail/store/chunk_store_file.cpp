#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/store/chunk_store_file.h>

#include <array>

namespace headrace::inline v1::detail {

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
  file_.begin(header_.data_offset());
  file_.write_header(header_.encode());
  end_ = header_.data_offset();
}

const std::vector<ChunkEntry>& ChunkStoreFile::resume(const ChunkStoreHeader& header) {
  header_ = header;
  end_ = header_.data_offset();
  const std::uint64_t size = file_.size();
  resumed_ = file_.resume<ChunkEntry>(header_.chunks, [&](const ChunkEntry& entry) {
    if (entry.state != ChunkState::stored) return entry.state != ChunkState::missing;
    if (entry.offset != end_ || entry.offset + entry.stored_bytes > size) return false;
    end_ += entry.stored_bytes;
    return true;
  });
  file_.resize(end_);
  return resumed_;
}

void ChunkStoreFile::append(StoredChunk chunk) {
  if (chunk.entry.state == ChunkState::stored) {
    chunk.entry.offset = end_;
    file_.write(chunk.bytes.data(), chunk.bytes.size(), end_);
    end_ += chunk.bytes.size();
  }
  file_.append(chunk.entry.encode(), chunk.bytes.size());
}

void ChunkStoreFile::finish() {
  commit();
  header_.index_checksum = file_.index_checksum(header_.data_offset() - ChunkStoreFormat::page);
  header_.file_bytes = end_;
  file_.resize(end_);
  file_.write_header(header_.encode());
  file_.finish();
}

}  // namespace headrace::inline v1::detail
