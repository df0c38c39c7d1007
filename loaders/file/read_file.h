#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/loaders/file/file_descriptor.h>

#include <cstdint>
#include <string_view>

namespace headrace::inline v1::detail {

/// Reads the file `root`/`path` of `bytes` bytes into a ragged uint8 field. Throws DataError naming
/// `path`; a ResourceError where the process lacks descriptors or memory.
void read_listed_file(std::string_view root, std::string_view path, std::uint64_t bytes,
                      std::string_view field, Sample& sample);

/// The same if it needs no waiting for a disk; else false.
bool read_listed_file_now(std::string_view root, std::string_view path, std::uint64_t bytes,
                          std::string_view field, Sample& sample);

}  // namespace headrace::inline v1::detail
