#include <headrace/loaders/internal/indexed_file.h>

#include <algorithm>

#include <libdeflate.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::uint64_t commit_bytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds commit_interval{1};

}  // namespace

std::uint32_t checksum_of(const void* data, std::size_t bytes, std::uint32_t before) noexcept {
  return bytes == 0 ? before : libdeflate_crc32(before, data, bytes);
}

void IndexedFile::begin(std::uint64_t data_offset) {
  on_disk_ = 0;
  resize(0);
  resize(data_offset);
}

void IndexedFile::append(std::span<const std::byte> entry, std::size_t bytes) {
  entries_.insert(entries_.end(), entry.begin(), entry.end());
  uncommitted_bytes_ += bytes;
  if (uncommitted_bytes_ >= commit_bytes ||
      std::chrono::steady_clock::now() - last_commit_ >= commit_interval)
    commit();
}

void IndexedFile::commit() {
  if (entries_.empty()) return;
  sync();
  write(entries_.data(), entries_.size(), place_of(on_disk_));
  on_disk_ += entries_.size() / entry_bytes_;
  entries_.clear();
  uncommitted_bytes_ = 0;
  last_commit_ = std::chrono::steady_clock::now();
}

std::uint32_t IndexedFile::index_checksum(std::uint64_t index_bytes) const {
  std::vector<std::byte> some(std::size_t{1} << 20);
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < index_bytes;) {
    const std::size_t count = std::min<std::uint64_t>(some.size(), index_bytes - done);
    if (!read(some.data(), count, page + done))
      throw ResourceError("[pack] the index that was written has gone; run it again");
    checksum = checksum_of(some.data(), count, checksum);
    done += count;
  }
  return checksum;
}

void IndexedFile::write_header(std::span<const std::byte, page> header) {
  sync();
  write(header.data(), header.size(), 0);
}

}  // namespace headrace::inline v1::detail
