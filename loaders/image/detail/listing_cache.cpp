#include <headrace/loaders/image/detail/listing_cache.h>

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

#include <headrace/engine/error.h>
#include <headrace/loaders/image/detail/read_file.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::array<char, 8> magic = {'h', 'r', 'l', 'i', 's', 't', '1', '\n'};
constexpr std::size_t header_bytes = 24;  // magic, bytes of what follows, CRC-32 of it, zero
// A folder that changed while it was listed may change again without its time showing it.
constexpr std::int64_t too_fresh_ns = 100'000'000;

/// Not an error of the user's: the cache is made anew.
struct Unusable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t changed_ns(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

/// Takes values out of a cache file; every length is held against what is left of the file.
class CacheReader {
 public:
  explicit CacheReader(const std::string& path) : file_(path.c_str()) {
    if (file_.number() < 0) throw Unusable(error_text());
    struct stat status {};
    if (::fstat(file_.number(), &status) != 0 || !S_ISREG(status.st_mode))
      throw Unusable("not a regular file");
    std::array<std::byte, header_bytes> header{};
    if (pread_all(file_.number(), header.data(), header.size(), 0) != header_bytes ||
        std::memcmp(header.data(), magic.data(), magic.size()) != 0)
      throw Unusable("not a listing of this version");
    std::memcpy(&left_, header.data() + 8, 8);
    std::memcpy(&expected_, header.data() + 16, 4);
    std::uint32_t zero = 0;
    std::memcpy(&zero, header.data() + 20, 4);
    if (zero != 0) throw Unusable("not a listing of this version");
    if (left_ != static_cast<std::uint64_t>(status.st_size) - header_bytes)
      throw Unusable("its length is not what it says");
  }

  void bytes(void* to, std::size_t count) {
    if (count == 0) return;
    if (count > left_) throw Unusable("it ends early");
    if (pread_all(file_.number(), static_cast<std::byte*>(to), count, at_) !=
        static_cast<std::int64_t>(count))
      throw Unusable("it cannot be read");
    at_ += count;
    left_ -= count;
    checksum_ = libdeflate_crc32(checksum_, to, count);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    bytes(&value, sizeof value);
    return value;
  }
  /// A count of things of `size` bytes each that must still fit into the file.
  std::size_t count(std::size_t size) {
    const std::uint64_t n = number();
    if (n > left_ / size) throw Unusable("it ends early");
    return static_cast<std::size_t>(n);
  }
  std::string text() {
    std::string value(count(1), '\0');
    bytes(value.data(), value.size());
    return value;
  }
  template <class T>
  std::vector<T> values() {
    std::vector<T> all(count(sizeof(T)));
    bytes(all.data(), all.size() * sizeof(T));
    return all;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all(count(8));
    for (std::string& text_of : all)
      text_of = text();
    return all;
  }
  void finish() const {
    if (left_ != 0 || checksum_ != expected_) throw Unusable("its checksum is another");
  }

 private:
  FileDescriptor file_;
  std::uint64_t left_ = 0;
  std::uint64_t at_ = header_bytes;
  std::uint32_t expected_ = 0;
  std::uint32_t checksum_ = 0;
};

class CacheWriter {
 public:
  explicit CacheWriter(const std::string& path)
      : path_(path), temporary_(path + ".XXXXXX"), file_(::mkostemp(temporary_.data(), O_CLOEXEC)) {
    if (file_ < 0) throw Unusable(error_text());
    out_ = ::fdopen(file_, "wb");
    const std::array<char, header_bytes> header{};
    raw(header.data(), header.size());
    checksum_ = 0;
    written_ = 0;
  }
  ~CacheWriter() {
    if (out_ != nullptr) std::fclose(out_);
    if (!done_) ::unlink(temporary_.c_str());
  }
  CacheWriter(const CacheWriter&) = delete;
  CacheWriter& operator=(const CacheWriter&) = delete;

  void bytes(const void* from, std::size_t count) { raw(from, count); }
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    raw(value.data(), value.size());
  }
  template <class T>
  void values(const std::vector<T>& all) {
    number(all.size());
    raw(all.data(), all.size() * sizeof(T));
  }
  void texts(const std::vector<std::string>& all) {
    number(all.size());
    for (const std::string& value : all)
      text(value);
  }
  void finish() {
    std::array<char, header_bytes> header{};
    std::memcpy(header.data(), magic.data(), magic.size());
    std::memcpy(header.data() + 8, &written_, 8);
    std::memcpy(header.data() + 16, &checksum_, 4);
    if (std::fflush(out_) != 0 ||
        ::pwrite(file_, header.data(), header.size(), 0) != header_bytes ||
        ::fchmod(file_, 0644) != 0 || ::fsync(file_) != 0 ||
        std::rename(temporary_.c_str(), path_.c_str()) != 0)
      throw Unusable(error_text());
    done_ = true;
  }

 private:
  void raw(const void* from, std::size_t count) {
    if (count == 0) return;
    if (std::fwrite(from, 1, count, out_) != count) throw Unusable(error_text());
    checksum_ = libdeflate_crc32(checksum_, from, count);
    written_ += count;
  }

  std::string path_;
  std::string temporary_;
  int file_ = -1;
  std::FILE* out_ = nullptr;
  std::uint32_t checksum_ = 0;
  std::uint64_t written_ = 0;
  bool done_ = false;
};

FileTable read_files(CacheReader& in) {
  FileTable files;
  files.root = in.text();
  files.paths = in.text();
  files.path_end = in.values<std::uint64_t>();
  files.bytes = in.values<std::uint64_t>();
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < files.path_end.size(); ++i) {
    if (files.path_end[i] <= before || files.path_end[i] > files.paths.size())
      throw Unusable("its paths are broken");
    before = files.path_end[i];
  }
  if (files.bytes.size() != files.path_end.size()) throw Unusable("its tables differ in length");
  for (const std::uint64_t bytes : files.bytes)
    files.largest = std::max(files.largest, bytes);
  return files;
}

void write_files(CacheWriter& out, const FileTable& files) {
  out.text(files.root);
  out.text(files.paths);
  out.values(files.path_end);
  out.values(files.bytes);
}

void check_numbers(const std::vector<std::int32_t>& numbers, std::size_t below) {
  for (const std::int32_t number : numbers) {
    if (number < 0 || static_cast<std::size_t>(number) >= below)
      throw Unusable("its labels are broken");
  }
}

ImageListing read_listing(CacheReader& in) {
  ImageListing listing;
  listing.images = read_files(in);
  listing.masks = read_files(in);
  listing.classes = in.texts();
  listing.labels = in.values<std::int32_t>();
  listing.weights = in.values<float>();
  listing.group_names = in.texts();
  listing.groups = in.values<std::int32_t>();
  in.finish();
  const std::size_t size = listing.images.size();
  const auto fits = [size](std::size_t count) { return count == 0 || count == size; };
  if (size == 0 || !fits(listing.masks.size()) || !fits(listing.labels.size()) ||
      !fits(listing.weights.size()) || !fits(listing.groups.size()))
    throw Unusable("its tables differ in length");
  check_numbers(listing.labels, listing.classes.size());
  check_numbers(listing.groups, listing.group_names.size());
  return listing;
}

std::optional<ImageListing> load(const std::string& cache, const std::string& subject) {
  CacheReader in(cache);
  if (in.text() != subject) throw Unusable("it is of another data set");
  for (std::size_t n = in.count(8); n > 0; --n) {
    ListingProof then;
    then.path = in.text();
    then.changed_ns = static_cast<std::int64_t>(in.number());
    then.bytes = in.number();
    then.checksum = static_cast<std::uint32_t>(in.number());
    struct stat status {};
    if (::stat(then.path.c_str(), &status) != 0 || changed_ns(status) != then.changed_ns)
      throw Unusable(printable(then.path) + " has changed");
    if (!S_ISDIR(status.st_mode) && file_proof(then.path) != then)
      throw Unusable(printable(then.path) + " has changed");
  }
  return read_listing(in);
}

void save(const std::string& cache, const std::string& subject,
          const std::vector<ListingProof>& proofs, const ImageListing& listing) {
  CacheWriter out(cache);
  out.text(subject);
  out.number(proofs.size());
  for (const ListingProof& proof : proofs) {
    out.text(proof.path);
    out.number(static_cast<std::uint64_t>(proof.changed_ns));
    out.number(proof.bytes);
    out.number(proof.checksum);
  }
  write_files(out, listing.images);
  write_files(out, listing.masks);
  out.texts(listing.classes);
  out.values(listing.labels);
  out.values(listing.weights);
  out.texts(listing.group_names);
  out.values(listing.groups);
  out.finish();
}

}  // namespace

ListingProof folder_proof(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw ConfigError("[listing] " + printable(path) + ": cannot be listed: " + error_text());
  }
  return {path, changed_ns(status), 0, 0};
}

ListingProof file_proof(const std::string& path) {
  const FileDescriptor file(path.c_str());
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw ConfigError("[listing] " + printable(path) + ": must be a file that can be read");
  }
  ListingProof proof{path, changed_ns(status), static_cast<std::uint64_t>(status.st_size), 0};
  std::vector<std::byte> block(1 << 20);
  for (std::uint64_t at = 0;;) {
    const std::int64_t got = pread_all(file.number(), block.data(), block.size(), at);
    if (got < 0) {
      throw ConfigError("[listing] " + printable(path) + ": cannot be read: " + error_text());
    }
    if (got == 0) return proof;
    proof.checksum = libdeflate_crc32(proof.checksum, block.data(), static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
}

std::shared_ptr<const ImageListing> cached_listing(
    const ListingOptions& options, const std::string& subject,
    const std::function<ImageListing(std::vector<ListingProof>&)>& make) {
  const auto say = [&options](LogLevel level, const std::string& line) {
    if (options.log) options.log(level, line);
  };
  const std::string cache = options.cache.native();
  const bool exists = !cache.empty() && ::access(cache.c_str(), F_OK) == 0;
  if (exists) {
    try {
      return std::make_shared<const ImageListing>(*load(cache, subject));
    } catch (const Unusable& reason) {
      say(LogLevel::warning,
          subject + ": the cached listing " + printable(cache) + " is made anew: " + reason.what());
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t start_ns = now_ns();
  std::vector<ListingProof> proofs;
  auto listing = std::make_shared<ImageListing>(make(proofs));
  listing->shrink_to_fit();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  say(LogLevel::info, subject + ": listed " + std::to_string(listing->images.size()) +
                          " images in " + std::to_string(took.count()) + " ms");
  if (cache.empty()) return listing;
  for (const ListingProof& proof : proofs) {
    if (proof.bytes != 0 || proof.changed_ns < start_ns - too_fresh_ns) continue;
    say(LogLevel::info,
        subject + ": the listing is not kept: " + printable(proof.path) + " changed a moment ago");
    return listing;
  }
  try {
    save(cache, subject, proofs, *listing);
  } catch (const Unusable& reason) {
    say(LogLevel::warning,
        subject + ": the listing cannot be kept as " + printable(cache) + ": " + reason.what());
  }
  return listing;
}

}  // namespace headrace::inline v1::detail
