#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/file/global_heap.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace headrace::inline v1::detail {
namespace {

// Format specification III.E: a collection is a header and objects one after the other, each a
// header of its own and data padded to eight bytes; object 0 is the free space at the end.
constexpr std::size_t header_bytes = 16;
constexpr int most_objects = 65536;  // their numbers have 16 bits

[[noreturn]] void damaged(const char* what, std::uint64_t at) {
  throw DataError(std::string("its heap collection at byte ") + std::to_string(at) + " " + what +
                  "; the file is damaged");
}

template <class T>
T value_at(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// A part of the file that moves along: most collections fit into one read.
class Window {
 public:
  explicit Window(const DataFile& file) : file_(file) {}

  /// The header at `at`, all of which lies in the file.
  const std::byte* header(std::uint64_t at) {
    if (at < first_ || at + header_bytes > first_ + bytes_) {
      first_ = at;
      bytes_ =
          static_cast<std::size_t>(std::min<std::uint64_t>(memory_.size(), file_.size() - first_));
      file_.read(memory_.data(), bytes_, first_);
    }
    return memory_.data() + (at - first_);
  }
  void copy(std::uint64_t at, std::span<std::byte> to) const {
    if (at < first_ || at + to.size() > first_ + bytes_)
      return file_.read(to.data(), to.size(), at);
    std::memcpy(to.data(), memory_.data() + (at - first_), to.size());
  }

 private:
  const DataFile& file_;
  std::array<std::byte, 4096> memory_;  // the usual size of a collection
  std::uint64_t first_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

HeapReference HeapReference::of(const std::byte* stored) noexcept {
  return {value_at<std::uint32_t>(stored), value_at<std::uint64_t>(stored + 4),
          value_at<std::uint32_t>(stored + 12)};
}

void read_heap_object(const DataFile& file, std::uint64_t base, const HeapReference& reference,
                      std::span<std::byte> to) {
  std::uint64_t first = 0;
  if (__builtin_add_overflow(base, reference.collection, &first) || file.size() < header_bytes ||
      first > file.size() - header_bytes)
    damaged("lies outside the file", reference.collection);
  Window window(file);
  const std::byte* header = window.header(first);
  const auto size = value_at<std::uint64_t>(header + 8);
  if (std::memcmp(header, "GCOL\1", 5) != 0) damaged("is none", first);
  if (size > file.size() - first) damaged("is larger than the file", first);
  const std::uint64_t end = first + size;
  std::uint64_t at = first + header_bytes;
  for (int i = 0; i < most_objects && at + header_bytes <= end; ++i) {
    header = window.header(at);
    const auto number = value_at<std::uint16_t>(header);
    const auto bytes = value_at<std::uint64_t>(header + 8);
    at += header_bytes;
    if (number == 0) break;
    if (bytes > end - at) damaged("has an object larger than itself", first);
    if (number == reference.object) {
      if (bytes < to.size()) damaged("has a shorter object than the dataset says", first);
      return window.copy(at, to);
    }
    at += std::min((bytes + 7) / 8 * 8, end - at);
  }
  damaged("does not have the object", first);
}

}  // namespace headrace::inline v1::detail
