#include <headrace/loaders/audio/audio_folder.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include <headrace/engine/error.h>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

bool is_sound_name(const fs::path& path) {
  constexpr std::array<std::string_view, 5> known = {".wav", ".flac", ".ogg", ".oga", ".opus"};
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(known.begin(), known.end(), extension) != known.end();
}

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

[[noreturn]] void refuse(const fs::path& path, const std::string& rule) {
  throw ConfigError("[audio folder] " + path.string() + ": " + rule);
}

void refuse_link(const fs::directory_entry& entry) {
  if (entry.is_symlink()) refuse(entry.path(), "links are not followed; copy what it leads to");
}

std::vector<std::string> class_names(const fs::path& root) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (is_hidden(entry.path())) continue;
    refuse_link(entry);
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) refuse(root, "must hold one folder per class, got none");
  return names;
}

}  // namespace

AudioFolder::AudioFolder(const fs::path& root, std::uint64_t largest_file) {
  std::error_code error;
  root_ = fs::canonical(root, error);
  if (error || !fs::is_directory(root_)) refuse(root, "must be a folder of class folders");
  try {
    for (const std::string& name : class_names(root_))
      list_class(name, largest_file);
  } catch (const fs::filesystem_error& failure) {
    refuse(failure.path1(), "cannot be listed: " + failure.code().message());
  }
}

void AudioFolder::list_class(const std::string& name, std::uint64_t largest_file) {
  const auto label = static_cast<std::int64_t>(classes_.size());
  const auto first = static_cast<std::ptrdiff_t>(files_.size());
  for (auto at = fs::recursive_directory_iterator(root_ / name);
       at != fs::recursive_directory_iterator(); ++at) {
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
      continue;
    }
    refuse_link(*at);
    if (!is_sound_name(at->path()) || !at->is_regular_file()) continue;
    const std::uint64_t bytes = at->file_size();
    if (bytes > largest_file) {
      refuse(at->path(), "must have at most " + std::to_string(largest_file) + " bytes, got " +
                             std::to_string(bytes) + "; cut it, or raise largest_file");
    }
    files_.push_back({at->path().lexically_relative(root_).string(), bytes, label});
    largest_ = std::max(largest_, bytes);
  }
  if (static_cast<std::ptrdiff_t>(files_.size()) == first) {
    refuse(root_ / name, "class folder must hold a sound, got none; remove it or fill it");
  }
  std::sort(files_.begin() + first, files_.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  classes_.push_back(name);
}

std::string AudioFolder::name() const {
  return "audio folder " + root_.string();
}

Schema AudioFolder::fields() const {
  return {FieldSpec::ragged("audio", DType::uint8, static_cast<std::int64_t>(largest_)),
          FieldSpec::fixed("label", DType::int64, Shape{})};
}

void AudioFolder::read(std::int64_t index, Sample& sample) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  std::ifstream stream(root_ / file.path, std::ios::binary | std::ios::ate);
  if (!stream) throw DataError("file " + file.path + ": cannot be opened");
  const auto bytes = static_cast<std::uint64_t>(stream.tellg());
  if (bytes != file.bytes || bytes == 0) {
    throw DataError("file " + file.path + ": must be " + std::to_string(file.bytes) +
                    " bytes as when it was listed and not empty, got " + std::to_string(bytes));
  }
  Tensor& audio = sample.make("audio", DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  stream.seekg(0);
  stream.read(static_cast<char*>(audio.raw()), static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(stream.gcount()) != bytes) {
    throw DataError("file " + file.path + ": cannot be read to its end");
  }
  sample.set_scalar<std::int64_t>("label", file.label);
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
  return files_[static_cast<std::size_t>(index)].path;
}

}  // namespace headrace::inline v1
