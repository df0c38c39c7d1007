#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/internal/stage_file.h>
#include <headrace/loaders/file/printable.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <libdeflate.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t copied_piece_bytes = std::size_t{4} << 20;

std::string who(const std::filesystem::path& name, const Stage& stage) {
  return "[stage] " + printable(name.native()) + " to " + printable(stage.folder.native()) + ": ";
}

void require_room(std::uint64_t bytes, const std::filesystem::path& name, const Stage& stage) {
  struct statvfs now {};
  if (::statvfs(stage.folder.c_str(), &now) != 0) return;
  const std::uint64_t room = std::uint64_t{now.f_bavail} * now.f_frsize;
  if (bytes <= room) return;
  throw ResourceError(who(name, stage) + "the copy needs " + std::to_string(bytes) +
                      " bytes, the folder has room for " + std::to_string(room) +
                      "; free some, choose another folder or read without a stage");
}

void say_done(std::uint64_t bytes, const std::filesystem::path& name, const Stage& stage,
              Clock::time_point begun) {
  if (!stage.log) return;
  const double s = std::chrono::duration<double>(Clock::now() - begun).count();
  stage.log(LogLevel::info, who(name, stage) + std::to_string(bytes >> 20) +
                                " MiB copied and checked in " + std::to_string(s) + " s");
}

/// Bytes of the piece at `offset`; 0 at the end; throws on an error.
std::size_t read_piece(int from, std::byte* to, std::uint64_t offset, const std::string& who) {
  for (;;) {
    const ssize_t got = ::pread(from, to, copied_piece_bytes, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR)
      throw DataError(who + "could not be read (" + std::strerror(errno) + "); check the disk");
  }
}

void write_piece(int to, std::span<const std::byte> piece, std::uint64_t offset,
                 const std::string& who) {
  if (!pwrite_all(to, piece.data(), piece.size(), offset)) {
    throw ResourceError(who + "could not be written (" + std::strerror(errno) +
                        "); free some room or choose another folder");
  }
}

}  // namespace

FileDescriptor stage_file(int descriptor, const std::filesystem::path& name, const Stage& stage) {
  struct stat now {};
  if (::fstat(descriptor, &now) != 0)
    throw DataError(who(name, stage) + "could not be looked at (" + std::strerror(errno) + ")");
  const auto bytes = static_cast<std::uint64_t>(now.st_size);
  FileDescriptor copy = nameless_file(stage.folder, ".headrace-stage-XXXXXX");
  if (copy.number() < 0) {
    throw ConfigError(who(name, stage) + "the folder must be one that can be written, got: " +
                      std::strerror(errno) + "; choose another");
  }
  require_room(bytes, name, stage);
  const auto piece = std::make_unique_for_overwrite<std::byte[]>(copied_piece_bytes);
  const Clock::time_point begun = Clock::now();
  std::uint32_t read_sum = 0, copy_sum = 0;
  std::uint64_t done = 0;
  while (const std::size_t got = read_piece(descriptor, piece.get(), done, who(name, stage))) {
    read_sum = libdeflate_crc32(read_sum, piece.get(), got);
    write_piece(copy.number(), {piece.get(), got}, done, who(name, stage));
    done += got;
    if (stage.on_progress && done < bytes) stage.on_progress({name, done, bytes});
  }
  std::uint64_t checked = 0;
  while (const std::size_t got =
             read_piece(copy.number(), piece.get(), checked, who(name, stage))) {
    copy_sum = libdeflate_crc32(copy_sum, piece.get(), got);
    checked += got;
  }
  if (done != bytes || checked != bytes || read_sum != copy_sum) {
    throw DataError(who(name, stage) + "the copy has " + std::to_string(checked) +
                    " bytes or another checksum, the file has " + std::to_string(bytes) +
                    "; check that nobody changes it");
  }
  if (stage.on_progress) stage.on_progress({name, bytes, bytes});
  say_done(bytes, name, stage, begun);
  return copy;
}

}  // namespace headrace::inline v1::detail
