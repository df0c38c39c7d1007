#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/pack/detail/pack_file_writer.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

constexpr std::uint64_t commit_bytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds commit_interval{1};

}  // namespace

PackFileWriter::PackFileWriter(std::string path, const PackHeader& header, const PackNames& names)
    : file_(std::move(path), "pack"), header_(header) {
  const std::string text = names.encode();
  header_.index_bytes = header_.records * PackFormat::entry_bytes;
  header_.names_offset = round_up(PackFormat::page + header_.index_bytes, PackFormat::page);
  header_.names_bytes = text.size();
  header_.names_checksum = checksum_of(text.data(), text.size());
  header_.data_offset = round_up(header_.names_offset + text.size(), PackFormat::page);
  if (!resume(text)) begin(text);
}

void PackFileWriter::begin(const std::string& names) {
  file_.resize(0);
  file_.resize(header_.data_offset);
  file_.write(names.data(), names.size(), header_.names_offset);
  file_.sync();
  const auto page = header_.encode();
  file_.write(page.data(), page.size(), 0);
  end_ = header_.data_offset;
}

bool PackFileWriter::resume(const std::string& names) {
  std::array<std::byte, PackFormat::page> page;
  if (!file_.read(page.data(), page.size(), 0) || page != header_.encode()) return false;
  std::string there(names.size(), '\0');
  if (!file_.read(there.data(), there.size(), header_.names_offset) || there != names) return false;
  const std::uint64_t size = file_.size();
  std::array<std::byte, PackFormat::entry_bytes> bytes;
  end_ = header_.data_offset;
  for (; records_ < header_.records; ++records_) {
    if (!file_.read(bytes.data(), bytes.size(),
                    PackFormat::page + records_ * PackFormat::entry_bytes))
      break;
    PackEntry entry;
    try {
      entry = PackEntry::decode(bytes.data());
    } catch (const DataError&) {
      break;
    }
    if (entry.state == PackState::whole) {
      const std::uint64_t end = entry.offset + entry.image_bytes + entry.mask_bytes;
      if (end > size) break;
      end_ = end;
    }
    resumed_.push_back(entry);
  }
  file_.resize(end_);
  return true;
}

void PackFileWriter::append(PackRecord record) {
  PackEntry& entry = record.entry;
  if (entry.state == PackState::whole) {
    entry.offset = round_up(end_, header_.alignment);
    file_.write(record.image.data(), record.image.size(), entry.offset);
    file_.write(record.mask.data(), record.mask.size(), entry.offset + record.image.size());
    end_ = entry.offset + record.image.size() + record.mask.size();
  }
  const std::size_t at = entries_.size();
  entries_.resize(at + PackFormat::entry_bytes);
  entry.encode(entries_.data() + at);
  uncommitted_bytes_ += record.image.size() + record.mask.size();
  if (uncommitted_bytes_ >= commit_bytes ||
      std::chrono::steady_clock::now() - last_commit_ >= commit_interval)
    commit();
}

void PackFileWriter::commit() {
  if (entries_.empty()) return;
  file_.sync();
  file_.write(entries_.data(), entries_.size(),
              PackFormat::page + records_ * PackFormat::entry_bytes);
  records_ += entries_.size() / PackFormat::entry_bytes;
  entries_.clear();
  uncommitted_bytes_ = 0;
  last_commit_ = std::chrono::steady_clock::now();
}

void PackFileWriter::finish() {
  commit();
  std::vector<std::byte> block(std::size_t{1} << 20);
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < header_.index_bytes;) {
    const std::size_t count = std::min<std::uint64_t>(block.size(), header_.index_bytes - done);
    if (!file_.read(block.data(), count, PackFormat::page + done))
      throw ResourceError("[pack] the index that was written has gone; run it again");
    checksum = checksum_of(block.data(), count, checksum);
    done += count;
  }
  header_.index_checksum = checksum;
  header_.file_bytes = round_up(end_, PackFormat::page);
  file_.resize(header_.file_bytes);
  file_.sync();
  const auto page = header_.encode();
  file_.write(page.data(), page.size(), 0);
  file_.finish();
  end_ = header_.file_bytes;
}

}  // namespace headrace::inline v1::detail
