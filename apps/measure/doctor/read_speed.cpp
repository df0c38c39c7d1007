#include <headrace/apps/measure/doctor/read_speed.h>
#include <headrace/apps/run/seconds_since.h>
#include <headrace/loaders/file/file_descriptor.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using headrace::detail::FileDescriptor;

constexpr std::size_t page = 4096;
constexpr std::size_t read_at_once = std::size_t{1} << 20;
constexpr std::size_t random_piece = std::size_t{128} << 10;

struct DataFile {
  fs::path path;
  std::uint64_t bytes = 0;
};

struct Piece {
  std::uint64_t first = 0;
  std::size_t bytes = 0;
};

void add_file(std::vector<DataFile>& files, const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes > 0) files.push_back({path, bytes});
}

std::vector<DataFile> files_of(const fs::path& data, std::size_t most) {
  std::vector<DataFile> files;
  add_file(files, data);
  if (!files.empty()) return files;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  std::size_t seen = 0;
  for (fs::recursive_directory_iterator it(data, options, error), end; !error && it != end;
       it.increment(error)) {
    if (++seen > most) break;
    add_file(files, it->path());
  }
  return files;
}

// Bytes of the piece that are in the page cache.
std::uint64_t cached_bytes(int file, const Piece& piece) {
  const std::uint64_t first = piece.first / page * page;
  const std::size_t bytes = piece.bytes + static_cast<std::size_t>(piece.first - first);
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(first));
  if (mapped == MAP_FAILED) return piece.bytes;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool told = ::mincore(mapped, bytes, pages.data()) == 0;
  ::munmap(mapped, bytes);
  if (!told) return piece.bytes;
  const auto held =
      std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return flags & 1U; });
  return std::min<std::uint64_t>(piece.bytes, static_cast<std::uint64_t>(held) * page);
}

// Reads pieces until a share of the limits is used up; the time of dropping pages is not counted.
class Reader {
 public:
  explicit Reader(const ReadSpeedLimits& share) : share_(share), began_(Clock::now()) {
    buffer_.resize(read_at_once);
  }

  bool done() const { return bytes_ >= share_.bytes || seconds_since(began_) >= share_.seconds; }

  // False where nothing could be read.
  bool read(const fs::path& path, Piece piece, int advice) {
    const FileDescriptor probe(path.c_str());
    if (probe.number() < 0) return false;
    const auto first = static_cast<off_t>(piece.first);
    ::posix_fadvise(probe.number(), first, static_cast<off_t>(piece.bytes), POSIX_FADV_DONTNEED);
    cached_ += cached_bytes(probe.number(), piece);
    const auto start = Clock::now();
    const std::uint64_t read = read_opened(path, piece, advice);
    seconds_ += seconds_since(start);
    bytes_ += read;
    return read > 0;
  }

  double per_s() const { return seconds_ > 0.0 ? static_cast<double>(bytes_) / seconds_ : 0.0; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t cached() const { return cached_; }

 private:
  std::uint64_t read_opened(const fs::path& path, const Piece& piece, int advice) {
    const FileDescriptor file(path.c_str());
    if (file.number() < 0) return 0;
    ::posix_fadvise(file.number(), 0, 0, advice);
    std::uint64_t read = 0;
    while (read < piece.bytes) {
      const std::size_t wanted = std::min<std::size_t>(buffer_.size(), piece.bytes - read);
      const ssize_t got =
          ::pread(file.number(), buffer_.data(), wanted, static_cast<off_t>(piece.first + read));
      if (got <= 0) break;
      read += static_cast<std::uint64_t>(got);
    }
    return read;
  }

  ReadSpeedLimits share_;
  Clock::time_point began_;
  std::vector<std::byte> buffer_;
  double seconds_ = 0.0;
  std::uint64_t bytes_ = 0;
  std::uint64_t cached_ = 0;
};

void read_in_order(Reader& reader, const std::vector<DataFile>& files) {
  constexpr std::uint64_t at_once = std::uint64_t{8} << 20;
  for (const DataFile& file : files) {
    for (std::uint64_t first = 0; first < file.bytes; first += at_once) {
      if (reader.done()) return;
      const auto bytes = static_cast<std::size_t>(std::min(at_once, file.bytes - first));
      if (!reader.read(file.path, {first, bytes}, POSIX_FADV_SEQUENTIAL)) break;
    }
  }
}

void read_anywhere(Reader& reader, const std::vector<DataFile>& files) {
  std::vector<std::uint64_t> ends;
  std::uint64_t all = 0;
  for (const DataFile& file : files)
    ends.push_back(all += file.bytes);
  std::mt19937_64 random(1);
  for (std::size_t failures = 0; !reader.done() && failures < files.size();) {
    const std::uint64_t place = random() % all;
    const auto at = std::upper_bound(ends.begin(), ends.end(), place);
    const DataFile& file = files[static_cast<std::size_t>(at - ends.begin())];
    const std::uint64_t first = (place - (*at - file.bytes)) / page * page;
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(random_piece, file.bytes - first));
    if (!reader.read(file.path, {first, bytes}, POSIX_FADV_RANDOM)) ++failures;
  }
}

}  // namespace

std::optional<ReadSpeed> measure_read_speed(const fs::path& data, const ReadSpeedLimits& limits) {
  const std::vector<DataFile> files = files_of(data, limits.files);
  if (files.empty()) return std::nullopt;
  const ReadSpeedLimits half{.seconds = limits.seconds / 2.0, .bytes = limits.bytes / 2};
  Reader in_order(half);
  read_in_order(in_order, files);
  Reader anywhere(half);
  read_anywhere(anywhere, files);
  const std::uint64_t bytes = in_order.bytes() + anywhere.bytes();
  if (in_order.bytes() == 0 || anywhere.bytes() == 0) return std::nullopt;
  const auto cached = static_cast<double>(in_order.cached() + anywhere.cached());
  return ReadSpeed{.sequential_per_s = in_order.per_s(),
                   .random_per_s = anywhere.per_s(),
                   .bytes = bytes,
                   .cached_share = std::min(1.0, cached / static_cast<double>(bytes))};
}

std::optional<double> measure_fsync(const fs::path& folder) {
  const FileDescriptor file = headrace::detail::nameless_file(folder, ".headrace-fsync-XXXXXX");
  if (file.number() < 0) return std::nullopt;
  const std::vector<std::byte> block(page, std::byte{1});
  constexpr double most_s = 1.0;
  std::vector<double> times;
  const auto began = Clock::now();
  while (times.size() < 5 && (times.empty() || seconds_since(began) < most_s)) {
    const auto start = Clock::now();
    if (::write(file.number(), block.data(), block.size()) != static_cast<ssize_t>(block.size()) ||
        ::fsync(file.number()) != 0)
      return std::nullopt;
    times.push_back(seconds_since(start));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace headrace::inline v1::app
