#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/data_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <libdeflate.h>

#include <fcntl.h>
#include <sys/stat.h>

namespace headrace::inline v1::detail {
namespace {

int open_regular(const std::filesystem::path& path) {
  const std::string who = "[hdf5] " + printable(path.native()) + ": ";
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) {
    throw ConfigError(who + "must be an HDF5 file, there is no such file; check the path");
  }
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  const std::string cause = std::string("cannot be opened (") + std::strerror(error) + ")";
  file_failed(who + cause, error, "; check its permissions");
}

}  // namespace

DataFile::DataFile(std::filesystem::path path, const Stage& stage)
    : path_(std::move(path)), file_(open_regular(path_)), named_(times()) {
  if (!stage.folder.empty()) file_ = stage_file(file_.number(), path_, stage);
  opened_ = times();
}

DataFile::DataFile(std::filesystem::path path, const Handed& handed)
    : path_(std::move(path)),
      file_(handed.descriptor),
      named_(handed.named),
      opened_(handed.opened) {
  require_unchanged();
}

DataFile::Times DataFile::times() const {
  struct stat now {};
  if (::fstat(file_.number(), &now) != 0) fail_read(errno);
  return {static_cast<std::uint64_t>(now.st_size), now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
}

FileIdentity DataFile::identity() const {
  constexpr std::uint64_t most = std::uint64_t{64} << 10;
  const auto part = static_cast<std::size_t>(std::min(size(), most));
  std::vector<std::byte> bytes(part);
  read(bytes.data(), part, 0);
  std::uint32_t sum = libdeflate_crc32(0, bytes.data(), part);
  read(bytes.data(), part, size() - part);
  sum = libdeflate_crc32(sum, bytes.data(), part);
  return {named_.bytes, named_.changed_s, named_.changed_ns, sum};
}

void DataFile::read(void* to, std::size_t bytes, std::uint64_t offset) const {
  const std::int64_t got = pread_all(file_.number(), static_cast<std::byte*>(to), bytes, offset);
  if (got != static_cast<std::int64_t>(bytes)) fail_read(got < 0 ? errno : 0);
}

void DataFile::require_unchanged() const {
  if (times() == opened_) return;
  throw PipelineError(printable(path_.native()) +
                      " was changed after it was opened; leave data files alone while they are "
                      "read, or replace them by renaming a new one");
}

void DataFile::fail_read(int error) const {
  if (error == 0) require_unchanged();
  throw DataError(printable(path_.native()) + " could not be read (" +
                  (error != 0 ? std::strerror(error) : "it has become shorter") +
                  "); check the disk and that nobody changes the file");
}

}  // namespace headrace::inline v1::detail
