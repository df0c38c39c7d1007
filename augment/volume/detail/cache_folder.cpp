#include <headrace/augment/volume/detail/cache_folder.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace headrace::inline v1::detail {

CacheFolder::CacheFolder(std::filesystem::path folder, std::uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

std::vector<CacheFolder::File> CacheFolder::list() const {
  std::vector<File> files;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().extension() != ".label") continue;
    std::error_code gone;  // by another process
    const std::uint64_t bytes = at->file_size(gone);
    if (gone) continue;
    const auto used = at->last_write_time(gone);
    if (!gone) files.push_back({at->path(), bytes, used});
  }
  return files;
}

void CacheFolder::remove_oldest(std::uint64_t most) {
  std::vector<File> files = list();
  used_bytes_ = 0;
  for (const File& file : files)
    used_bytes_ += file.bytes;
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (used_bytes_ <= most) break;
    std::error_code failed;
    std::filesystem::remove(file.path, failed);
    if (!failed) used_bytes_ -= file.bytes;
  }
}

bool CacheFolder::make_room(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > most_bytes_) return false;
  if (!counted_) remove_oldest(most_bytes_);
  counted_ = true;
  if (used_bytes_ + bytes > most_bytes_)
    remove_oldest(std::min(most_bytes_ - bytes, most_bytes_ / 10 * 9));
  if (used_bytes_ + bytes > most_bytes_) return false;
  used_bytes_ += bytes;
  return true;
}

void CacheFolder::touch(const std::filesystem::path& path) const {
  std::error_code failed;  // gone, or not ours: the file is then the older one
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), failed);
}

void CacheFolder::count_again() {
  const std::lock_guard lock(mutex_);
  counted_ = false;
}

}  // namespace headrace::inline v1::detail
