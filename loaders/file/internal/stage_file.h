#pragma once

#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/stage_progress.h>

#include <filesystem>

namespace headrace::inline v1::detail {

/// Where a file is copied before it is read.
struct Stage {
  std::filesystem::path folder{};  ///< a fast disk, or memory: /dev/shm; empty: nowhere
  LogCallback log{};               ///< told once of each copy
  StageCallback on_progress{};     ///< told behind each piece, and when a copy is checked
};

/// Copies an open file into the stage's folder and returns the copy, open for reading. The copy has
/// no name: it goes when the descriptor is closed, also when the process dies. Room is checked
/// before the first byte; afterwards the copy is read back and its CRC-32 compared. Throws
/// ConfigError when the folder cannot be written, ResourceError with the figures when it has too
/// little room, DataError when the copy differs or the file cannot be read.
FileDescriptor stage_file(int descriptor, const std::filesystem::path& name, const Stage& stage);

}  // namespace headrace::inline v1::detail
