#include <headrace/loaders/listing/internal/listing_file.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <libdeflate.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::array<char, 8> listing_magic = {'h', 'r', 'l', 'i', 's', 't', '4', '\n'};
constexpr std::size_t at_once = std::size_t{64} << 10;
constexpr std::size_t header_bytes = 24;  // magic, bytes of what follows, CRC-32 of it, zero

}  // namespace

ListingReader::ListingReader(const std::string& path) : file_(path.c_str()), at_(header_bytes) {
  if (file_.number() < 0) throw UnusableListing(error_text());
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0 || !S_ISREG(status.st_mode))
    throw UnusableListing("not a regular file");
  std::array<std::byte, header_bytes> header{};
  std::uint32_t zero = 0;
  const bool whole = pread_all(file_.number(), header.data(), header.size(), 0) == header_bytes;
  std::memcpy(&left_, header.data() + 8, 8);
  std::memcpy(&expected_, header.data() + 16, 4);
  std::memcpy(&zero, header.data() + 20, 4);
  if (!whole || zero != 0 ||
      std::memcmp(header.data(), listing_magic.data(), listing_magic.size()) != 0)
    throw UnusableListing("not a listing of this version");
  if (left_ != static_cast<std::uint64_t>(status.st_size) - header_bytes)
    throw UnusableListing("its length is not what it says");
  end_ = at_ + left_;
}

void ListingReader::bytes(void* to, std::size_t count) {
  if (count == 0) return;
  if (count > left_) throw UnusableListing("it ends early");
  const std::span out(static_cast<std::byte*>(to), count);
  const std::size_t kept = std::min(count, ahead_.size());
  std::copy_n(ahead_.begin(), kept, out.begin());
  ahead_ = ahead_.subspan(kept);
  if (kept < count) {
    const std::span rest = out.subspan(kept);
    if (rest.size() >= at_once) {
      read(rest);
    } else {
      buffer_.resize(std::min<std::uint64_t>(at_once, end_ - at_));
      read(buffer_);
      std::copy_n(buffer_.begin(), rest.size(), rest.begin());
      ahead_ = std::span(buffer_).subspan(rest.size());
    }
  }
  left_ -= count;
  checksum_ = libdeflate_crc32(checksum_, to, count);
}

void ListingReader::read(std::span<std::byte> to) {
  if (pread_all(file_.number(), to.data(), to.size(), at_) != static_cast<std::int64_t>(to.size()))
    throw UnusableListing("it cannot be read");
  at_ += to.size();
}

std::size_t ListingReader::count(std::size_t size, std::size_t most) {
  const std::uint64_t n = number();
  if (n > left_ / size) throw UnusableListing("it ends early");
  if (n > most) throw UnusableListing("its tables differ in length");
  return static_cast<std::size_t>(n);
}

std::string ListingReader::text(std::size_t most) {
  constexpr std::size_t piece = std::size_t{16} << 20;
  const std::size_t size = count(1, most);
  std::string value;
  while (value.size() < size) {
    const std::size_t before = value.size();
    value.resize(before + std::min(piece, size - before));
    bytes(value.data() + before, value.size() - before);
    if (value.find('\0', before) != std::string::npos)
      throw UnusableListing("its names are broken");
  }
  return value;
}

std::vector<std::string> ListingReader::texts(std::size_t most) {
  std::vector<std::string> all(count(8, most));
  for (std::string& text_of : all)
    text_of = text();
  return all;
}

void ListingReader::finish() const {
  if (left_ != 0 || checksum_ != expected_) throw UnusableListing("its checksum is another");
}

ListingWriter::ListingWriter(const std::string& path) : path_(path), temporary_(path + ".XXXXXX") {
  file_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (file_ < 0) throw UnusableListing(error_text());
  out_ = ::fdopen(file_, "wb");
  const std::array<char, header_bytes> header{};
  if (out_ != nullptr && std::fwrite(header.data(), header.size(), 1, out_) == 1) return;
  const std::string reason = error_text();
  out_ != nullptr ? std::fclose(out_) : ::close(file_);
  ::unlink(temporary_.c_str());
  throw UnusableListing(reason);
}

ListingWriter::~ListingWriter() {
  std::fclose(out_);
  if (!done_) ::unlink(temporary_.c_str());
}

void ListingWriter::bytes(const void* from, std::size_t count) {
  if (count == 0) return;
  if (std::fwrite(from, 1, count, out_) != count) throw UnusableListing(error_text());
  checksum_ = libdeflate_crc32(checksum_, from, count);
  written_ += count;
}

void ListingWriter::text(std::string_view value) {
  number(value.size());
  bytes(value.data(), value.size());
}

void ListingWriter::texts(const std::vector<std::string>& all) {
  number(all.size());
  for (const std::string& value : all)
    text(value);
}

void ListingWriter::finish() {
  std::array<char, header_bytes> header{};
  std::memcpy(header.data(), listing_magic.data(), listing_magic.size());
  std::memcpy(header.data() + 8, &written_, 8);
  std::memcpy(header.data() + 16, &checksum_, 4);
  if (std::fflush(out_) != 0 || ::pwrite(file_, header.data(), header.size(), 0) != header_bytes ||
      ::fchmod(file_, 0644) != 0 || ::fsync(file_) != 0 ||
      std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw UnusableListing(error_text());
  done_ = true;
}

}  // namespace headrace::inline v1::detail
