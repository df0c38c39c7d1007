#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/store_folder.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

/// Whether a name of a folder leads nowhere but down.
bool leads_down(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string_view::npos)
    return false;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    if (name.substr(0, end) == "..") return false;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return true;
}

/// Where an open file lies.
std::string place_of(int file) {
  std::array<char, PATH_MAX> place{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), place.data(), place.size());
  return length < 0 ? std::string() : std::string(place.data(), static_cast<std::size_t>(length));
}

bool inside(const std::string& place, const std::string& folder) {
  return folder == "/" || place.starts_with(folder + "/");
}

[[noreturn]] void cannot_open_store(const std::string& name, int error) {
  const std::string text =
      detail::quoted(name) + " cannot be opened: " + std::generic_category().message(error);
  if (error == EMFILE || error == ENFILE || error == ENOMEM)
    throw ResourceError("[volume] " + text + "; raise the limits of the process");
  throw DataError(text + "; check the disk and the permissions");
}

}  // namespace

void StoreFile::read(std::uint64_t from, std::span<std::byte> to) const {
  const std::int64_t got = pread_all(file.number(), to.data(), to.size(), from);
  if (got < 0) throw DataError("it cannot be read: " + error_text() + "; check the disk");
  if (const FileStamp now = open_stamp(file.number()); now != opened)
    require_unchanged(printable(place_of(file.number())), opened, now);
  if (static_cast<std::size_t>(got) != to.size()) {
    throw DataError("ends at byte " + std::to_string(from + static_cast<std::uint64_t>(got)) +
                    " where " + std::to_string(to.size()) + " bytes from " + std::to_string(from) +
                    " on belong; the file is damaged");
  }
}

StoreFolder::StoreFolder(const std::filesystem::path& folder)
    : path_(canonical_folder(folder, "volume", "a folder with a Zarr array or group")) {}

StoreFolder StoreFolder::below(const std::string& name) const {
  if (!leads_down(name)) {
    throw DataError("the path of an array must lead down from its group, got " +
                    detail::quoted(name) + "; the metadata is damaged");
  }
  std::error_code error;
  const auto folder = std::filesystem::canonical(path_ + "/" + name, error);
  if (error || !std::filesystem::is_directory(folder, error))
    throw DataError("the array " + detail::quoted(name) +
                    " must be a folder of the group; there is none");
  if (folder.native() != path_ && !inside(folder.native(), path_))
    throw DataError("the array " + detail::quoted(name) +
                    " must lie in its group; a link leads out of it");
  return StoreFolder(folder);
}

std::optional<StoreFile> StoreFolder::open(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  FileDescriptor file(path.c_str());
  if (file.number() < 0) {
    if (errno == ENOENT && std::filesystem::is_symlink(path))
      throw DataError(detail::quoted(name) + " is a link that leads nowhere; fetch what it names");
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    cannot_open_store(name, errno);
  }
  struct stat now {};
  if (::fstat(file.number(), &now) != 0) cannot_open_store(name, errno);
  if (!S_ISREG(now.st_mode)) throw DataError(detail::quoted(name) + " must be a regular file");
  if (!inside(place_of(file.number()), path_))
    throw DataError(detail::quoted(name) + " must lie in its store; a link leads out of it");
  const FileStamp opened = open_stamp(file.number());
  return StoreFile{std::move(file), opened};
}

std::optional<std::string> StoreFolder::text(const std::string& name, std::size_t most) const {
  const std::optional<StoreFile> file = open(name);
  if (!file) return std::nullopt;
  if (file->bytes() > most) {
    throw DataError(detail::quoted(name) + " must have at most " + std::to_string(most) +
                    " bytes, got " + std::to_string(file->bytes()));
  }
  std::string text(static_cast<std::size_t>(file->bytes()), '\0');
  file->read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace headrace::inline v1::detail
