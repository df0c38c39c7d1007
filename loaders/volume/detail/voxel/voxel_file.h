#pragma once

#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/file_identity.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// A regular file that holds voxels, open for reads at places. Const and thread-safe. What reads
/// or fails throws a PipelineError where it was changed since it was opened.
class VoxelFile {
 public:
  /// `who` begins its messages: "nifti". Throws ConfigError when there is no such file,
  /// ResourceError when the process lacks descriptors or memory, DataError when the disk fails.
  VoxelFile(const std::filesystem::path& path, std::string who);

  /// The path as messages show it.
  const std::string& name() const noexcept { return name_; }
  std::uint64_t size() const noexcept { return opened_.bytes; }
  /// Of its opening.
  const FileStamp& opened() const noexcept { return opened_; }

  /// Reads exactly that many bytes. Throws DataError.
  void read(std::span<std::byte> to, std::uint64_t offset) const;
  /// Reads as many as there are from `offset` on, at most all of `to`. Throws DataError.
  std::size_t read_some(std::span<std::byte> to, std::uint64_t offset) const;
  /// Throws DataError: who, file, and that.
  [[noreturn]] void fail(const std::string& rule) const;

 private:
  std::string name_;
  std::string who_;
  FileDescriptor file_;
  FileStamp opened_{};
};

}  // namespace headrace::inline v1::detail
