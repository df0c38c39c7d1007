#include <headrace/loaders/hdf5/detail/chunk_index_file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include <libdeflate.h>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

constexpr char magic[8] = {'H', 'R', 'I', 'N', 'D', 'E', 'X', '1'};
constexpr std::size_t sum_bytes = 4;

std::uint32_t crc(std::span<const std::byte> bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

/// Takes values off the front; remembers when there were not enough bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T value() {
    T read{};
    const auto from = part(sizeof(T));
    if (!from.empty()) std::memcpy(&read, from.data(), sizeof(T));
    return read;
  }
  std::span<const std::byte> part(std::size_t bytes) {
    if (bytes > bytes_.size()) {
      short_ = true;
      return {};
    }
    const auto taken = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken;
  }
  std::size_t left() const noexcept { return bytes_.size(); }
  bool failed() const noexcept { return short_; }

 private:
  std::span<const std::byte> bytes_;
  bool short_ = false;
};

class Writer {
 public:
  template <class T>
  void value(const T& written) {
    part(std::as_bytes(std::span(&written, 1)));
  }
  void part(std::span<const std::byte> from) {
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  std::vector<std::byte> bytes;
};

FileIdentity read_identity(Reader& from) {
  FileIdentity identity;
  identity.bytes = from.value<std::uint64_t>();
  identity.changed_s = from.value<std::int64_t>();
  identity.changed_ns = from.value<std::int64_t>();
  identity.fingerprint = from.value<std::uint32_t>();
  return identity;
}

std::vector<std::byte> whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  constexpr std::streamoff most = std::streamoff{1} << 31;
  if (size <= 0 || size > most) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), size);
  return in.gcount() == size ? bytes : std::vector<std::byte>{};
}

/// Writes all and brings it on the disk; errno of what failed, else 0.
int write_synced(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      error = errno;
    else
      bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  if (error == 0 && ::fsync(file) != 0) error = errno;
  ::close(file);
  return error;
}

}  // namespace

std::filesystem::path ChunkIndexFile::path_of(const std::filesystem::path& data_file) {
  return data_file.string() + ".headrace-index";
}

ChunkIndexFile::ChunkIndexFile(const std::filesystem::path& data_file, const FileIdentity& identity)
    : path_(path_of(data_file)), identity_(identity) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path_, none)) return;
  entries_ = parse(whole_file(path_), identity_);
}

std::vector<ChunkIndexFile::Entry> ChunkIndexFile::parse(std::span<const std::byte> bytes,
                                                         const FileIdentity& identity) {
  if (bytes.size() < sizeof(magic) + sum_bytes ||
      std::memcmp(bytes.data(), magic, sizeof(magic)) != 0)
    return {};
  std::uint32_t sum = 0;
  std::memcpy(&sum, bytes.data() + bytes.size() - sum_bytes, sum_bytes);
  bytes = bytes.first(bytes.size() - sum_bytes);
  if (crc(bytes) != sum) return {};
  Reader from(bytes.subspan(sizeof(magic)));
  if (read_identity(from) != identity) return {};
  const auto datasets = from.value<std::uint32_t>();
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < datasets && !from.failed(); ++i) {
    const auto key = from.part(from.value<std::uint32_t>());
    const auto chunks = from.value<std::uint64_t>();
    if (from.failed() || chunks > from.left() / sizeof(ChunkPlace)) return {};
    Entry entry{{reinterpret_cast<const char*>(key.data()), key.size()}, {}};
    entry.places.resize(chunks);
    const auto places = from.part(chunks * sizeof(ChunkPlace));
    if (!places.empty()) std::memcpy(entry.places.data(), places.data(), places.size());
    entries.push_back(std::move(entry));
  }
  return from.failed() ? std::vector<Entry>{} : entries;
}

const std::vector<ChunkPlace>* ChunkIndexFile::find(const std::string& key,
                                                    std::size_t chunks) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  return found != entries_.end() && found->places.size() == chunks ? &found->places : nullptr;
}

void ChunkIndexFile::put(std::string key, std::vector<ChunkPlace> places) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  entries_.push_back({std::move(key), std::move(places)});
  changed_ = true;
}

std::vector<std::byte> ChunkIndexFile::text() const {
  static_assert(sizeof(ChunkPlace) == 16);
  Writer to;
  to.part(std::as_bytes(std::span(magic)));
  to.value(identity_.bytes);
  to.value(identity_.changed_s);
  to.value(identity_.changed_ns);
  to.value(identity_.fingerprint);
  to.value(static_cast<std::uint32_t>(entries_.size()));
  for (const Entry& entry : entries_) {
    to.value(static_cast<std::uint32_t>(entry.key.size()));
    to.part(std::as_bytes(std::span(entry.key)));
    to.value(static_cast<std::uint64_t>(entry.places.size()));
    to.part(std::as_bytes(std::span(entry.places)));
  }
  to.value(crc(to.bytes));
  return std::move(to.bytes);
}

std::string ChunkIndexFile::save() const {
  if (!changed_) return {};
  static std::atomic<unsigned> writers{0};
  const std::filesystem::path partial =
      path_.string() + ".partial." + std::to_string(::getpid()) + "." + std::to_string(writers++);
  ::unlink(partial.c_str());
  if (const int error = write_synced(partial, text()); error != 0) {
    ::unlink(partial.c_str());
    return std::strerror(error);
  }
  if (::rename(partial.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(partial.c_str());
    return std::strerror(error);
  }
  return {};
}

}  // namespace headrace::inline v1::detail
