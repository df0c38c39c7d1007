#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// A file system where it is seen.
struct Mount {
  std::filesystem::path point{};  ///< "/home"
  std::string type{};             ///< "ext4", "nfs4", "fuse.sshfs"
  std::string source{};           ///< "/dev/vda", "server:/export"
};

enum class StorageKind : unsigned char { local, network, fuse, overlay, memory, other };

/// What kind of storage a file system's type is: "nfs4" is network, "tmpfs" memory.
StorageKind storage_kind(const std::string& type);

/// The path itself without links, or, where it is not there, the nearest folder above it that is.
std::filesystem::path nearest_present(const std::filesystem::path& path);

/// The mount that a path without links is on, by proc/self/mountinfo below `root`; nothing where
/// that cannot be read.
std::optional<Mount> mount_of(const std::filesystem::path& path,
                              const std::filesystem::path& root = "/");

}  // namespace headrace::inline v1::app
