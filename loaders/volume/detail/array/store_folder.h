#pragma once

#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/file_identity.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// A file of a store, open.
struct StoreFile {
  FileDescriptor file;
  FileStamp opened{};

  std::uint64_t bytes() const noexcept { return opened.bytes; }
  /// Fills `to` from there on. Throws DataError with the rule alone, a PipelineError where the file
  /// was changed since it was opened.
  void read(std::uint64_t from, std::span<std::byte> to) const;
};

/// A folder of files none of which may lie elsewhere, whatever links say.
class StoreFolder {
 public:
  /// Throws ConfigError where there is no such folder.
  explicit StoreFolder(const std::filesystem::path& folder);

  /// The folder below it of that name, which a file told. Throws DataError with the rule alone.
  StoreFolder below(const std::string& name) const;

  /// The file of that name; nothing where there is none. Throws DataError with the rule alone, or a
  /// ResourceError where the process lacks descriptors or memory.
  std::optional<StoreFile> open(const std::string& name) const;

  /// All of a file of at most `most` bytes; nothing where there is none.
  std::optional<std::string> text(const std::string& name, std::size_t most) const;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;  // canonical
};

}  // namespace headrace::inline v1::detail
