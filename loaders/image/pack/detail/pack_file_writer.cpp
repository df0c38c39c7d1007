#include <headrace/loaders/image/pack/detail/pack_file_writer.h>

#include <array>
#include <utility>

namespace headrace::inline v1::detail {

PackFileWriter::PackFileWriter(std::string path, const PackHeader& header, const PackNames& names)
    : file_(std::move(path), PackFormat::entry_bytes), header_(header) {
  const std::string text = names.encode();
  header_.index_bytes = header_.records * PackFormat::entry_bytes;
  header_.names_offset = round_up(PackFormat::page + header_.index_bytes, PackFormat::page);
  header_.names_bytes = text.size();
  header_.names_checksum = checksum_of(text.data(), text.size());
  header_.data_offset = round_up(header_.names_offset + text.size(), PackFormat::page);
  if (!resume(text)) begin(text);
}

void PackFileWriter::begin(const std::string& names) {
  file_.begin(header_.data_offset);
  file_.write(names.data(), names.size(), header_.names_offset);
  file_.write_header(header_.encode());
  end_ = header_.data_offset;
}

bool PackFileWriter::resume(const std::string& names) {
  std::array<std::byte, PackFormat::page> page;
  if (!file_.read(page.data(), page.size(), 0) || page != header_.encode()) return false;
  std::string there(names.size(), '\0');
  if (!file_.read(there.data(), there.size(), header_.names_offset) || there != names) return false;
  end_ = header_.data_offset;
  const std::uint64_t size = file_.size();
  resumed_ = file_.resume<PackEntry>(header_.records, [&](const PackEntry& entry) {
    if (entry.state != PackState::whole) return true;
    const std::uint64_t end = entry.offset + entry.image_bytes + entry.mask_bytes;
    if (end > size) return false;
    end_ = end;
    return true;
  });
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
  std::array<std::byte, PackFormat::entry_bytes> bytes;
  entry.encode(bytes.data());
  file_.append(bytes, record.image.size() + record.mask.size());
}

void PackFileWriter::finish() {
  commit();
  header_.index_checksum = file_.index_checksum(header_.index_bytes);
  header_.file_bytes = round_up(end_, PackFormat::page);
  header_.fingerprint = 0;  // nothing is gone on with: the same files give the same bytes anywhere
  file_.resize(header_.file_bytes);
  file_.write_header(header_.encode());
  file_.finish();
  end_ = header_.file_bytes;
}

}  // namespace headrace::inline v1::detail
