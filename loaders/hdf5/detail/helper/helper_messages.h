#pragma once

#include <headrace/loaders/hdf5/detail/helper/wire.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <cstdint>

namespace headrace::inline v1::detail {

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
enum class HelperAnswer : std::uint32_t { done, data_error, config_error, resource_error, more };

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
