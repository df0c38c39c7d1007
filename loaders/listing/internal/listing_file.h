#pragma once

#include <headrace/loaders/file/read_file.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Not an error of the user's: the cache is made anew.
struct UnusableListing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Takes values out of a cache file; every length is held against what is left of the file, and
/// against the most that it can be, before memory is taken. Throws UnusableListing.
class ListingReader {
 public:
  explicit ListingReader(const std::string& path);

  void bytes(void* to, std::size_t count);
  std::uint64_t number() {
    std::uint64_t value = 0;
    bytes(&value, sizeof value);
    return value;
  }
  /// A count of at most `most` things of `size` bytes each that must still fit into the file.
  std::size_t count(std::size_t size, std::size_t most = SIZE_MAX);
  /// Without a zero in it.
  std::string text(std::size_t most = SIZE_MAX);
  template <class T>
  std::vector<T> values(std::size_t most) {
    std::vector<T> all(count(sizeof(T), most));
    bytes(all.data(), all.size() * sizeof(T));
    return all;
  }
  std::vector<std::string> texts(std::size_t most);
  /// That everything was taken and is what was written.
  void finish() const;

 private:
  void read(std::span<std::byte> to);

  FileDescriptor file_;
  std::uint64_t left_ = 0;
  std::uint64_t at_ = 0;  // where the file is read on
  std::uint64_t end_ = 0;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> ahead_;  // what of it was not taken
  std::uint32_t expected_ = 0;
  std::uint32_t checksum_ = 0;
};

/// Writes values under a temporary name that finish() makes the right one. Throws UnusableListing.
class ListingWriter {
 public:
  explicit ListingWriter(const std::string& path);
  ~ListingWriter();
  ListingWriter(const ListingWriter&) = delete;
  ListingWriter& operator=(const ListingWriter&) = delete;

  void number(std::uint64_t value) { bytes(&value, sizeof value); }
  void text(std::string_view value);
  template <class T>
  void values(const std::vector<T>& all) {
    number(all.size());
    bytes(all.data(), all.size() * sizeof(T));
  }
  void texts(const std::vector<std::string>& all);
  void finish();

 private:
  void bytes(const void* from, std::size_t count);

  std::string path_;
  std::string temporary_;
  int file_ = -1;
  std::FILE* out_ = nullptr;
  std::uint32_t checksum_ = 0;
  std::uint64_t written_ = 0;
  bool done_ = false;
};

}  // namespace headrace::inline v1::detail
