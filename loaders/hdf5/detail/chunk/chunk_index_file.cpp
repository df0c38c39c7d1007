#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index_file.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include <libdeflate.h>

#include <sys/stat.h>

namespace headrace::inline v1::detail {
namespace {

constexpr char magic[8] = {'H', 'R', 'I', 'N', 'D', 'E', 'X', '2'};
constexpr std::size_t head_bytes = sizeof(magic) + 28 + 8;
constexpr std::size_t most_directory = std::size_t{1} << 20;
constexpr std::size_t most_key = std::size_t{64} << 10;
/// Of indexes that nobody asked for: what is more is built anew when somebody does.
constexpr std::size_t most_carried = std::size_t{256} << 20;

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

bool read_at(const FileDescriptor& file, std::span<std::byte> to, std::uint64_t offset) {
  return pread_all(file.number(), to.data(), to.size(), offset) ==
         static_cast<std::int64_t>(to.size());
}

/// Binds places to a dataset and to what lies there: some chunks, evenly spread over those that
/// were written. None where the data cannot be read.
std::optional<std::uint32_t> seal_of(const std::string& key, std::span<const ChunkPlace> places,
                                     const std::filesystem::path& data_file) {
  constexpr std::size_t looks = 32, most_bytes = 256;
  const FileDescriptor data(data_file.c_str());
  if (data.number() < 0) return std::nullopt;
  std::uint32_t seal = crc(std::as_bytes(std::span(key)));
  seal = libdeflate_crc32(seal, places.data(), places.size_bytes());
  std::array<std::byte, most_bytes> bytes{};
  for (std::size_t i = 0; i < std::min(looks, places.size()); ++i) {
    const ChunkPlace& place = places[(2 * i + 1) * places.size() / (2 * looks)];
    const auto part = std::span(bytes).first(std::min<std::size_t>(place.bytes, most_bytes));
    if (!read_at(data, part, place.offset)) return std::nullopt;
    seal = libdeflate_crc32(seal, part.data(), part.size());
  }
  return seal;
}

bool all_inside(std::span<const ChunkPlace> places, std::uint64_t file_bytes) {
  return std::ranges::all_of(places, [file_bytes](const ChunkPlace& place) {
    return place.offset <= file_bytes && place.bytes <= file_bytes - place.offset;
  });
}

}  // namespace

std::filesystem::path ChunkIndexFile::path_of(const std::filesystem::path& data_file) {
  return data_file.string() + ".headrace-index";
}

ChunkIndexFile::ChunkIndexFile(std::filesystem::path data_file, const FileIdentity& identity)
    : data_file_(std::move(data_file)), path_(path_of(data_file_)), identity_(identity) {
  read_directory();
}

void ChunkIndexFile::read_directory() {
  const FileDescriptor file(path_.c_str());
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  std::vector<std::byte> head(head_bytes);
  if (!read_at(file, head, 0) || std::memcmp(head.data(), magic, sizeof(magic)) != 0) return;
  Reader start(std::span<const std::byte>(head).subspan(sizeof(magic)));
  if (read_identity(start) != identity_) return;
  const auto datasets = start.value<std::uint32_t>();
  const auto bytes = start.value<std::uint32_t>();
  if (bytes > most_directory) return;
  head.resize(head_bytes + bytes + sizeof(std::uint32_t));
  const std::span<std::byte> rest = std::span(head).subspan(head_bytes);
  if (!read_at(file, rest, head_bytes)) return;
  std::uint32_t sum = 0;
  std::memcpy(&sum, rest.data() + bytes, sizeof(sum));
  if (crc(std::span(head).first(head_bytes + bytes)) != sum) return;

  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t end = head.size();
  std::vector<Entry> entries;
  Reader from(rest.first(bytes));
  for (std::uint32_t i = 0; i < datasets; ++i) {
    const auto length = from.value<std::uint32_t>();
    const auto key = from.part(std::min<std::size_t>(length, most_key));
    Entry entry{{reinterpret_cast<const char*>(key.data()), key.size()}};
    entry.chunks = from.value<std::uint64_t>();
    entry.seal = from.value<std::uint32_t>();
    entry.at = end;
    if (from.failed() || entry.chunks > (size - end) / sizeof(ChunkPlace)) return;
    end += entry.chunks * sizeof(ChunkPlace);
    entries.push_back(std::move(entry));
  }
  if (end == size) entries_ = std::move(entries);
}

/// Takes an entry's places from the file, if they are there.
bool ChunkIndexFile::load(Entry& entry) const {
  if (entry.at == 0) return true;
  const FileDescriptor file(path_.c_str());
  entry.places.resize(entry.chunks);
  if (!read_at(file, std::as_writable_bytes(std::span(entry.places)), entry.at)) return false;
  entry.at = 0;
  return true;
}

const std::vector<ChunkPlace>* ChunkIndexFile::find(const std::string& key, std::size_t chunks) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end() || found->chunks != chunks || !load(*found) ||
      !all_inside(found->places, identity_.bytes))
    return nullptr;
  return seal_of(key, found->places, data_file_) == found->seal ? &found->places : nullptr;
}

void ChunkIndexFile::put(std::string key, std::vector<ChunkPlace> places) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  const auto seal = seal_of(key, places, data_file_);
  if (!seal || key.size() > most_key) return;
  const std::uint64_t chunks = places.size();
  entries_.push_back({std::move(key), chunks, *seal, 0, std::move(places)});
  changed_ = true;
}

std::vector<std::byte> ChunkIndexFile::text() const {
  static_assert(sizeof(ChunkPlace) == 16);
  Writer directory, places;
  std::uint32_t datasets = 0;
  for (Entry entry : entries_) {
    const bool asked = entry.at == 0;
    if (!asked && entry.chunks > (most_carried - std::min(most_carried, places.bytes.size())) / 16)
      continue;
    if (!load(entry)) continue;
    directory.value(static_cast<std::uint32_t>(entry.key.size()));
    directory.part(std::as_bytes(std::span(entry.key)));
    directory.value(entry.chunks);
    directory.value(entry.seal);
    places.part(std::as_bytes(std::span(entry.places)));
    ++datasets;
  }
  Writer to;
  to.part(std::as_bytes(std::span(magic)));
  to.value(identity_.bytes);
  to.value(identity_.changed_s);
  to.value(identity_.changed_ns);
  to.value(identity_.fingerprint);
  to.value(datasets);
  to.value(static_cast<std::uint32_t>(directory.bytes.size()));
  to.part(directory.bytes);
  to.value(crc(to.bytes));
  to.part(places.bytes);
  return std::move(to.bytes);
}

std::string ChunkIndexFile::save() const {
  if (!changed_) return {};
  try {
    write_file_atomically(path_, text(), {.who = "hdf5"});
    return {};
  } catch (const ResourceError& error) {
    return error.what();
  }
}

bool agrees(const std::vector<ChunkPlace>& places,
            const std::function<ChunkPlace(std::size_t chunk)>& place_of) {
  constexpr int looks = 64;
  if (places.empty()) return true;
  const auto right = [&](std::size_t chunk) { return place_of(chunk) == places[chunk]; };
  if (!right(0) || !right(places.size() - 1)) return false;
  std::random_device random;
  std::uniform_int_distribution<std::size_t> any(0, places.size() - 1);
  for (int i = 0; i < looks; ++i)
    if (!right(any(random))) return false;
  return true;
}

}  // namespace headrace::inline v1::detail
