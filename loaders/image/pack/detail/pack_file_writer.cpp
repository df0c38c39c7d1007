#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/image/pack/detail/pack_file_writer.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::uint64_t commit_bytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds commit_interval{1};

}  // namespace

PackFileWriter::PackFileWriter(std::string path, const PackHeader& header, const PackNames& names)
    : path_(std::move(path)), partial_(path_ + ".partial"), header_(header) {
  const std::string text = names.encode();
  header_.index_bytes = header_.records * PackFormat::entry_bytes;
  header_.names_offset = round_up(PackFormat::page + header_.index_bytes, PackFormat::page);
  header_.names_bytes = text.size();
  header_.names_checksum = checksum_of(text.data(), text.size());
  header_.data_offset = round_up(header_.names_offset + text.size(), PackFormat::page);
  do {
    file_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  } while (file_ < 0 && errno == EINTR);
  if (file_ < 0) fail("create");
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      throw ResourceError("[pack] " + printable(partial_) +
                          ": another run is writing it; wait for its end");
    }
    // Between the two calls above, the run that held the file may have finished it.
    struct stat ours {};
    struct stat named {};
    if (::fstat(file_, &ours) != 0 || ::stat(partial_.c_str(), &named) != 0 ||
        ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) {
      throw ResourceError("[pack] " + printable(partial_) +
                          ": another run has just finished it; run it again to pack anew");
    }
    if (!resume(text)) begin(text);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

PackFileWriter::~PackFileWriter() {
  if (file_ >= 0) ::close(file_);
}

void PackFileWriter::fail(const char* step) const {
  throw ResourceError("[pack] " + printable(partial_) + ": cannot " + step + ": " + error_text() +
                      " (" + std::to_string(end_) +
                      " bytes are written); make room or name another file, and run it again to go "
                      "on");
}

void PackFileWriter::write(const void* from, std::size_t bytes, std::uint64_t offset) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t got = ::pwrite(file_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("write");
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void PackFileWriter::begin(const std::string& names) {
  if (::ftruncate(file_, 0) != 0 ||
      ::ftruncate(file_, static_cast<off_t>(header_.data_offset)) != 0)
    fail("resize");
  write(names.data(), names.size(), header_.names_offset);
  if (::fdatasync(file_) != 0) fail("sync");
  const auto page = header_.encode();
  write(page.data(), page.size(), 0);
  end_ = header_.data_offset;
}

bool PackFileWriter::resume(const std::string& names) {
  std::array<std::byte, PackFormat::page> page;
  if (pread_all(file_, page.data(), page.size(), 0) != static_cast<std::int64_t>(page.size()))
    return false;
  if (page != header_.encode()) return false;
  std::string there(names.size(), '\0');
  pread_all(file_, reinterpret_cast<std::byte*>(there.data()), there.size(), header_.names_offset);
  if (there != names) return false;
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail("read");
  std::array<std::byte, PackFormat::entry_bytes> bytes;
  end_ = header_.data_offset;
  for (; records_ < header_.records; ++records_) {
    if (pread_all(file_, bytes.data(), bytes.size(),
                  PackFormat::page + records_ * PackFormat::entry_bytes) !=
        static_cast<std::int64_t>(bytes.size()))
      break;
    PackEntry entry;
    try {
      entry = PackEntry::decode(bytes.data());
    } catch (const DataError&) {
      break;
    }
    if (entry.state == PackState::whole) {
      const std::uint64_t end = entry.offset + entry.image_bytes + entry.mask_bytes;
      if (end > static_cast<std::uint64_t>(status.st_size)) break;
      end_ = end;
    }
    resumed_.push_back(entry);
  }
  if (::ftruncate(file_, static_cast<off_t>(end_)) != 0) fail("resize");
  return true;
}

void PackFileWriter::append(PackRecord record) {
  PackEntry& entry = record.entry;
  if (entry.state == PackState::whole) {
    entry.offset = round_up(end_, header_.alignment);
    write(record.image.data(), record.image.size(), entry.offset);
    write(record.mask.data(), record.mask.size(), entry.offset + record.image.size());
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
  if (::fdatasync(file_) != 0) fail("sync");
  write(entries_.data(), entries_.size(), PackFormat::page + records_ * PackFormat::entry_bytes);
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
    if (pread_all(file_, block.data(), count, PackFormat::page + done) !=
        static_cast<std::int64_t>(count))
      fail("read");
    checksum = checksum_of(block.data(), count, checksum);
    done += count;
  }
  header_.index_checksum = checksum;
  header_.file_bytes = round_up(end_, PackFormat::page);
  if (::ftruncate(file_, static_cast<off_t>(header_.file_bytes)) != 0 || ::fsync(file_) != 0)
    fail("sync");
  const auto page = header_.encode();
  write(page.data(), page.size(), 0);
  if (::fsync(file_) != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0) fail("finish");
  const auto folder = std::filesystem::path(path_).parent_path();
  const FileDescriptor directory(folder.empty() ? "." : folder.c_str());
  if (directory.number() < 0 || ::fsync(directory.number()) != 0) fail("sync");
  end_ = header_.file_bytes;
}

}  // namespace headrace::inline v1::detail
