#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/voxel/voxel_file.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void cannot_open_volume(const std::string& file, int error) {
  if (error == ENOENT || error == ENOTDIR || error == EISDIR)
    throw ConfigError(file + "there is no such file; check the path");
  file_failed(file + "cannot be opened: " + std::generic_category().message(error), error,
              "; check the path and its permissions");
}

}  // namespace

VoxelFile::VoxelFile(const std::filesystem::path& path, std::string who)
    : name_(printable(path.native())), who_(std::move(who)), file_(path.c_str()) {
  const std::string file = "[" + who_ + "] " + name_ + ": ";
  struct stat now {};
  if (file_.number() < 0 || ::fstat(file_.number(), &now) != 0) cannot_open_volume(file, errno);
  if (!S_ISREG(now.st_mode)) cannot_open_volume(file, ENOENT);
  opened_ = open_stamp(file_.number());
}

std::size_t VoxelFile::read_some(std::span<std::byte> to, std::uint64_t offset) const {
  const std::int64_t got = pread_all(file_.number(), to.data(), to.size(), offset);
  if (got < 0) fail("cannot be read: " + error_text() + "; check the disk");
  require_unchanged(name_, opened_, open_stamp(file_.number()));
  return static_cast<std::size_t>(got);
}

void VoxelFile::read(std::span<std::byte> to, std::uint64_t offset) const {
  const std::size_t got = read_some(to, offset);
  if (got == to.size()) return;
  fail("must have " + std::to_string(to.size()) + " bytes at byte " + std::to_string(offset) +
       ", got " + std::to_string(got) + "; the file is truncated, copy it again");
}

void VoxelFile::fail(const std::string& rule) const {
  require_unchanged(name_, opened_, open_stamp(file_.number()));
  throw DataError("[" + who_ + "] " + name_ + ": " + rule);
}

}  // namespace headrace::inline v1::detail
