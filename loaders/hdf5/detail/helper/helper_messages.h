#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace headrace::inline v1::detail {

/// Values one behind the other, for another process on this machine.
class WireWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(const T& written) { bytes(std::as_bytes(std::span(&written, 1))); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void list(const std::vector<T>& values) {
    value(std::uint64_t{values.size()});
    bytes(std::as_bytes(std::span(values)));
  }
  void text(std::string_view text) {
    value(std::uint64_t{text.size()});
    bytes(std::as_bytes(std::span(text)));
  }
  void texts(const std::vector<std::string>& texts) {
    value(std::uint64_t{texts.size()});
    for (const std::string& each : texts)
      text(each);
  }

  std::vector<std::byte> message;

 private:
  void bytes(std::span<const std::byte> from) {
    const std::size_t had = message.size();
    message.resize(had + from.size());
    if (!from.empty()) std::memcpy(message.data() + had, from.data(), from.size());
  }
};

/// Takes them off again, from a process that may be out of its mind: throws DataError where there
/// are fewer bytes than a value needs.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : left_(message) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T value() {
    T read{};
    std::memcpy(&read, part(sizeof(T)).data(), sizeof(T));
    return read;
  }
  /// Not bool, whose bytes may be any.
  bool flag() { return value<std::uint8_t>() != 0; }
  template <class T>
  requires std::is_trivially_copyable_v<T> std::vector<T> list() {
    const auto count = value<std::uint64_t>();
    require(count <= left_.size() / sizeof(T));
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), part(count * sizeof(T)).data(), count * sizeof(T));
    return values;
  }
  std::string text() {
    const auto from = part(value<std::uint64_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::vector<std::string> texts() {
    const auto count = value<std::uint64_t>();
    require(count <= left_.size() / sizeof(std::uint64_t));
    std::vector<std::string> texts(count);
    for (std::string& each : texts)
      each = text();
    return texts;
  }
  /// Throws DataError unless what was said can be.
  static void require(bool possible) {
    if (!possible) throw DataError("the HDF5 helper's answer makes no sense");
  }

 private:
  std::span<const std::byte> part(std::uint64_t bytes) {
    require(bytes <= left_.size());
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }

  std::span<const std::byte> left_;
};

/// What a helper is asked.
enum class HelperCall : std::uint32_t {
  open,
  datasets_in,
  all_datasets,
  describe,
  save_indexes,
  attributes,
  open_reader,
  close_reader,
  read_rows,
  read_places,
};

/// How it answers: with what was asked for, or with the error to be thrown.
/// `more` precedes another answer: the call takes cpu_ms longer than was known (expect_work()).
enum class HelperAnswer : std::uint32_t {
  done,
  data_error,
  config_error,
  resource_error,
  pipeline_error,
  more
};

/// Precedes every message, both ways.
struct HelperHeader {
  std::uint32_t kind = 0;    ///< a HelperCall or a HelperAnswer
  std::uint32_t cpu_ms = 0;  ///< of a call: processor time that it may take
  std::uint64_t memory = 0;  ///< of a call: bytes that it may take beside what is held already
  std::uint64_t bytes = 0;   ///< of the message behind
};

/// What the slowest filter decodes in a millisecond: processor time of work.
inline constexpr std::size_t work_bytes_per_ms = 10'000;

/// Its descriptors, which stand in its arguments.
struct HelperDescriptors {
  int socket;  ///< messages
  int data;    ///< the file
  int window;  ///< memory that both see, for rows
};

void put(WireWriter& to, const DatasetRequest& request);
DatasetRequest take_request(WireReader& from);

/// Without what only the library's side needs (`guarded`).
void put(WireWriter& to, const Hdf5Dataset& dataset);
/// Sizes are computed anew and held against each other, the file's and what was asked for. Throws
/// DataError.
Hdf5Dataset take_dataset(WireReader& from, const DatasetRequest& request, std::uint64_t file_bytes);

void put(WireWriter& to, const std::vector<Hdf5Attribute>& attributes);
std::vector<Hdf5Attribute> take_attributes(WireReader& from);

}  // namespace headrace::inline v1::detail
