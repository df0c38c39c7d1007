#include <headrace/engine/base/error.h>
#include <headrace/loaders/audio/audio_folder.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

bool is_sound_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> known = {".wav", ".flac", ".ogg", ".oga", ".opus"};
  return std::find(known.begin(), known.end(), detail::extension_of(name)) != known.end();
}

[[noreturn]] void refuse(std::string_view path, const std::string& rule) {
  throw ConfigError("[audio folder] " + detail::printable(path) + ": " + rule);
}

/// What is not hidden; a link is refused.
std::vector<detail::FolderEntry> entries_of(const std::string& folder) {
  std::vector<detail::FolderEntry> entries = detail::folder_entries(folder);
  std::erase_if(entries, [](const detail::FolderEntry& e) { return e.name.starts_with('.'); });
  for (const detail::FolderEntry& entry : entries) {
    if (entry.link)
      refuse(folder + "/" + entry.name, "links are not followed; copy what it leads to");
  }
  return entries;
}

}  // namespace

AudioFolder::AudioFolder(const fs::path& root, std::uint64_t largest_file)
    : root_(detail::canonical_folder(root, "audio folder", "a folder of class folders")) {
  try {
    for (const detail::FolderEntry& entry : entries_of(root_)) {
      if (entry.folder) list_class(entry.name, largest_file);
    }
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, "audio folder");
  }
  if (classes_.empty()) refuse(root_, "must hold one folder per class, got none");
}

void AudioFolder::list_class(const std::string& name, std::uint64_t largest_file) {
  const std::size_t first = files_.size();
  list_below(name, largest_file);
  if (files_.size() == first) {
    refuse(root_ + "/" + name,
           "class folder must hold a sound, got none; fill it, or move it out of the folder of "
           "classes");
  }
  std::sort(files_.begin() + static_cast<std::ptrdiff_t>(first), files_.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  classes_.push_back(name);
}

void AudioFolder::list_below(const std::string& folder, std::uint64_t largest_file) {
  for (const detail::FolderEntry& entry : entries_of(root_ + "/" + folder)) {
    const std::string path = folder + "/" + entry.name;
    if (entry.folder) list_below(path, largest_file);
    if (!entry.regular || !is_sound_name(entry.name)) continue;
    if (entry.bytes > largest_file) {
      refuse(root_ + "/" + path, "must have at most " + std::to_string(largest_file) +
                                     " bytes, got " + std::to_string(entry.bytes) +
                                     "; cut it, or raise largest_file");
    }
    files_.push_back({path, entry.bytes, static_cast<std::int64_t>(classes_.size())});
    largest_ = std::max(largest_, entry.bytes);
  }
}

std::string AudioFolder::name() const {
  return "audio folder " + detail::printable(root_);
}

Schema AudioFolder::fields() const {
  return {FieldSpec::ragged("audio", DType::uint8, static_cast<std::int64_t>(largest_)),
          FieldSpec::fixed("label", DType::int64, Shape{})};
}

void AudioFolder::read(std::int64_t index, Sample& sample) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  detail::read_listed_file(root_, file.path, file.bytes, "audio", sample);
  sample.set_scalar<std::int64_t>("label", file.label);
}

bool AudioFolder::read_now(std::int64_t index, Sample& sample) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  if (!detail::read_listed_file_now(root_, file.path, file.bytes, "audio", sample)) return false;
  sample.set_scalar<std::int64_t>("label", file.label);
  return true;
}

std::size_t AudioFolder::working_bytes(std::int64_t index) const {
  return files_[static_cast<std::size_t>(index)].bytes;
}

std::size_t AudioFolder::resident_bytes() const {
  std::size_t sum = files_.capacity() * sizeof(File);
  for (const File& file : files_)
    sum += file.path.capacity();
  return sum;
}

std::string AudioFolder::origin(std::int64_t index) const {
  return printable_name(files_[static_cast<std::size_t>(index)].path);
}

}  // namespace headrace::inline v1
