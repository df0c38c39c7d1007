#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/run/prepared_folder.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/folder_lock.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view record = "recipe.txt";
constexpr std::string_view read_me = "README.txt";

/// Without a slash at its end: what is made stands beside it.
fs::path whole_path(const fs::path& folder) {
  const fs::path path = fs::weakly_canonical(fs::absolute(folder));
  return path.has_filename() ? path : path.parent_path();
}

/// Files of a folder itself.
struct Content {
  std::int64_t files = 0;
  std::uintmax_t bytes = 0;
};

void write_text(const fs::path& file, const std::string& text) {
  write_file_atomically(file, text, {.who = "prepare"});
}

}  // namespace

PreparedFolder::PreparedFolder(PreparedFolderOptions options)
    : options_(std::move(options)),
      output_(whole_path(options_.output)),
      work_(output_.string() + ".unfinished"),
      replaced_(output_.string() + ".replaced") {}

bool PreparedFolder::is_done() const {
  return read_whole_text(output_ / record, "prepare") == record_of(output_);
}

bool PreparedFolder::make(const std::function<std::string(const fs::path&)>& fill) const {
  if (is_done()) return false;
  for (const fs::path& folder : {output_, work_, replaced_})
    require_own(folder);
  make_folder("prepare", work_);
  const FolderLock lock(work_);
  if (lock.refused())
    throw ConfigError(fmt::format(
        "[prepare] {} must be made by one program at a time, another is at it; wait for that",
        output_.string()));
  if (is_done()) return false;  // by one that has ended meanwhile
  begin();
  finish(fill(work_));
  return true;
}

std::string PreparedFolder::record_begins() const {
  return options_.name + " 1: ";
}

/// The recipe, and how many files of how many bytes each folder has.
std::string PreparedFolder::record_of(const fs::path& root) const {
  std::string text = record_begins() + options_.recipe + '\n';
  for (const std::string& part : options_.parts) {
    std::map<std::string, Content> folders;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(root / part, none)) {
      if (entry.is_directory(none)) {
        folders.try_emplace(entry.path().lexically_relative(root).string());
        continue;
      }
      Content& content = folders[entry.path().parent_path().lexically_relative(root).string()];
      content.bytes += entry.file_size(none);
      ++content.files;
    }
    for (const auto& [folder, content] : folders)
      text += fmt::format("{} {} {}\n", folder, content.files, content.bytes);
  }
  return text;
}

/// What is to be replaced is nobody else's.
void PreparedFolder::require_own(const fs::path& folder) const {
  std::error_code none;
  if (!fs::exists(folder, none) || (fs::is_directory(folder, none) && fs::is_empty(folder, none)))
    return;
  const auto own = [this](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return name == record || name == read_me ||
           std::ranges::find(options_.parts, name) != options_.parts.end();
  };
  if (read_whole_text(folder / record, "prepare").starts_with(record_begins()) &&
      std::all_of(fs::directory_iterator(folder, none), fs::directory_iterator(), own))
    return;
  throw ConfigError(fmt::format(
      "[prepare] {} must be empty, or made by prepare {} and hold nothing else, got something "
      "else; name another folder",
      folder.string(), options_.name));
}

void PreparedFolder::begin() const {
  std::error_code failed;
  for (const std::string& part : options_.parts) {
    if (!failed) fs::remove_all(work_ / part, failed);
  }
  if (failed)
    throw ResourceError(fmt::format("[prepare] {} must be emptied, which failed: {}",
                                    work_.string(), failed.message()));
  write_text(work_ / record, record_begins() + "not finished\n");
  for (const std::string& part : options_.parts)
    make_folder("prepare", work_ / part);
}

void PreparedFolder::finish(const std::string& readme) const {
  write_text(work_ / read_me, readme);
  write_text(work_ / record, record_of(work_));
  if (const int folder = ::open(work_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::syncfs(folder);  // the files before their name
    ::close(folder);
  }
  remove(replaced_);
  std::error_code failed;
  if (fs::exists(output_)) fs::rename(output_, replaced_, failed);
  if (!failed) fs::rename(work_, output_, failed);
  if (failed)
    throw ResourceError(fmt::format("[prepare] {} must be replaced by {}, which failed: {}",
                                    output_.string(), work_.string(), failed.message()));
  remove(replaced_);
}

/// The record last: what is left of it after an interrupt is still known for what it is.
void PreparedFolder::remove(const fs::path& folder) const {
  std::error_code failed;
  for (const std::string& part : options_.parts)
    if (!failed) fs::remove_all(folder / part, failed);
  if (!failed) fs::remove_all(folder, failed);
  if (failed)
    throw ResourceError(fmt::format("[prepare] {} must be removed, which failed: {}",
                                    folder.string(), failed.message()));
}

void write_prepared_file(const fs::path& file, std::span<const std::byte> bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw ResourceError(fmt::format(
        "[prepare] {} must be written whole, which failed; is the disk full?", file.string()));
}

}  // namespace headrace::inline v1::app
