#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/job/job.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// Bytes of a configuration's records, all of them; 0: unknown, or not of that kind.
struct RecordBytes {
  std::uint64_t decoded = 0;  ///< as data.cache would keep them
  std::uint64_t rows = 0;     ///< as data.resident would keep them
};

/// Opens the data's outlines. Throws nothing.
RecordBytes record_bytes(const LoaderConfig& config);

/// The same of what is trained; `full` is its document with every key in use.
RecordBytes record_bytes(const JobConfig& config, const Node& full);

}  // namespace headrace::inline v1::app
