#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/crc32c.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <span>
#include <string>
#include <vector>

#include <libdeflate.h>

#include <sys/stat.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::uint64_t stretch = sampled_bytes / 3;

[[noreturn]] void no_file(const std::filesystem::path& file, int error) {
  errno = error;
  file_failed("[files] " + printable(file.native()) + ": cannot be read: " + error_text(), error,
              "; check the path and its permissions");
}

FileStamp stamp_of(const struct stat& status) {
  return {
      .bytes = static_cast<std::uint64_t>(status.st_size),
      .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// UTC, to the nanosecond.
std::string time_text(const FileStamp& stamp) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::time_t whole = static_cast<std::time_t>(stamp.modified_ns / second);
  std::tm utc{};
  ::gmtime_r(&whole, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%F %T", &utc);
  const std::string below = std::to_string(second + stamp.modified_ns % second);
  return text.data() + ('.' + below.substr(1)) + " UTC";
}

/// Two sums of bytes that come in pieces.
class Sums {
 public:
  void add(std::span<const std::byte> bytes) {
    const std::uint32_t pair[2] = {castagnoli_, crc32c(bytes)};
    castagnoli_ = crc32c(std::as_bytes(std::span(pair)));
    ieee_ = libdeflate_crc32(ieee_, bytes.data(), bytes.size());
  }
  std::uint64_t value() const { return std::uint64_t{castagnoli_} << 32 | ieee_; }

 private:
  std::uint32_t castagnoli_ = 0;
  std::uint32_t ieee_ = 0;
};

std::uint64_t sum_of(const std::filesystem::path& path, bool whole) {
  const FileDescriptor file(path.c_str());
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) no_file(path, errno);
  const std::uint64_t bytes = stamp_of(status).bytes;
  std::vector<std::byte> piece(std::min(stretch, bytes));
  Sums sums;
  sums.add(std::as_bytes(std::span(&bytes, 1)));
  const auto add = [&](std::uint64_t offset, std::uint64_t count) {
    const auto part = std::span(piece).first(count);
    const std::int64_t got = pread_all(file.number(), part.data(), count, offset);
    if (got < 0) no_file(path, errno);
    if (static_cast<std::uint64_t>(got) != count)
      throw DataError("[files] " + printable(path.native()) + ": must have " +
                      std::to_string(bytes) + " bytes, ends after " +
                      std::to_string(offset + static_cast<std::uint64_t>(got)) +
                      "; it is being written, wait for its end");
    sums.add(part);
  };
  if (whole || bytes <= sampled_bytes) {
    for (std::uint64_t at = 0; at < bytes; at += stretch)
      add(at, std::min(stretch, bytes - at));
  } else {
    for (const std::uint64_t at : {std::uint64_t{0}, (bytes - stretch) / 2, bytes - stretch})
      add(at, stretch);
  }
  return sums.value();
}

}  // namespace

FileStamp file_stamp(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) no_file(file, errno);
  return stamp_of(status);
}

FileStamp open_stamp(int descriptor) noexcept {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? stamp_of(status) : FileStamp{};
}

void require_unchanged(const std::string& name, const FileStamp& opened, const FileStamp& now) {
  if (now == opened) return;
  const auto text = [](const FileStamp& stamp) {
    return std::to_string(stamp.bytes) + " bytes of " + time_text(stamp);
  };
  throw PipelineError("[files] " + name + ": must stay as it is while it is read, was " +
                      text(opened) + ", is " + text(now) +
                      "; leave it alone, or replace it by renaming a new one, and start again");
}

std::uint64_t content_sample(const std::filesystem::path& file) {
  return sum_of(file, false);
}

std::uint64_t content_sum(const std::filesystem::path& file) {
  return sum_of(file, true);
}

std::uint64_t mark_of_files(std::size_t count,
                            const std::function<std::filesystem::path(std::size_t)>& file,
                            int threads) {
  constexpr std::size_t sampled = 64;
  const std::size_t step = std::max<std::size_t>(1, count / sampled);
  std::atomic<std::uint64_t> mark = 0;  // a sum: no file waits for the one before
  const auto add = [&](std::size_t i) {
    const std::filesystem::path path = file(i);
    FileStamp stamp;
    std::uint64_t content = 0;
    try {
      stamp = file_stamp(path);
      if (i % step == 0) content = content_sample(path);
    } catch (const ResourceError&) {
      throw;
    } catch (const Error&) {
      // Whoever reads it says why.
    }
    std::string text;
    for (const std::uint64_t number :
         {std::uint64_t{i}, stamp.bytes, static_cast<std::uint64_t>(stamp.modified_ns), content})
      text += std::to_string(number) + ' ';
    mark += hash_name(text);
  };
  in_parallel(count, static_cast<std::size_t>(threads), [&add] { return add; });
  return mark;
}

}  // namespace headrace::inline v1::detail
