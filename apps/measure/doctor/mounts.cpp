#include <headrace/apps/measure/doctor/mounts.h>
#include <headrace/engine/base/internal/proc_files.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using headrace::detail::read_small_file;
using headrace::detail::split_lines;
using headrace::detail::split_words;

template <std::size_t Count>
bool is_one_of(std::string_view type, const std::array<std::string_view, Count>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

// The kernel writes blanks and backslashes as "\040".
std::string unescaped(std::string_view text) {
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool is_below(const fs::path& path, const fs::path& point) {
  const auto [rest, ignored] = std::mismatch(point.begin(), point.end(), path.begin(), path.end());
  return rest == point.end() || (std::next(rest) == point.end() && rest->empty());
}

// "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw"
std::optional<Mount> read_line(std::string_view line) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto before = split_words(line.substr(0, dash));
  const auto behind = split_words(line.substr(dash + 3));
  if (before.size() < 5 || behind.size() < 2) return std::nullopt;
  return Mount{.point = unescaped(before[4]),
               .type = std::string(behind[0]),
               .source = unescaped(behind[1])};
}

}  // namespace

StorageKind storage_kind(const std::string& type) {
  constexpr std::array<std::string_view, 11> network{"nfs",   "nfs4",   "cifs",     "smb3",
                                                     "smbfs", "afs",    "ceph",     "lustre",
                                                     "gpfs",  "beegfs", "glusterfs"};
  constexpr std::array<std::string_view, 10> local{"ext2", "ext3",     "ext4", "xfs", "btrfs",
                                                   "zfs",  "bcachefs", "f2fs", "jfs", "vfat"};
  constexpr std::array<std::string_view, 3> memory{"tmpfs", "ramfs", "devtmpfs"};
  if (is_one_of(type, network)) return StorageKind::network;
  if (is_one_of(type, local)) return StorageKind::local;
  if (is_one_of(type, memory)) return StorageKind::memory;
  if (type == "overlay" || type == "aufs") return StorageKind::overlay;
  if (type == "fuseblk" || type == "fuse" || type.starts_with("fuse.")) return StorageKind::fuse;
  return StorageKind::other;
}

fs::path nearest_present(const fs::path& path) {
  std::error_code error;
  fs::path present = fs::absolute(path.empty() ? fs::path(".") : path, error).lexically_normal();
  while (!fs::exists(present, error) && present.has_relative_path())
    present = present.parent_path();
  const fs::path real = fs::canonical(present, error);
  return error ? present : real;
}

std::optional<Mount> mount_of(const fs::path& path, const fs::path& root) {
  const auto text = read_small_file(root / "proc/self/mountinfo");
  if (!text) return std::nullopt;
  std::optional<Mount> innermost;
  for (const std::string_view line : split_lines(*text)) {
    const std::optional<Mount> mount = read_line(line);
    if (!mount || !is_below(path, mount->point)) continue;
    // Of two on the same point the later one covers the other.
    if (!innermost || mount->point.native().size() >= innermost->point.native().size())
      innermost = mount;
  }
  return innermost;
}

}  // namespace headrace::inline v1::app
