#include <headrace/loaders/image/image_folder.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <headrace/engine/error.h>
#include <headrace/loaders/file/cached_file.h>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t decoded_bytes_per_file_byte = 10;

bool is_image_name(const fs::path& path) {
  constexpr std::array<std::string_view, 7> known = {".jpg", ".jpeg", ".png", ".webp",
                                                     ".bmp", ".tif",  ".tiff"};
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(known.begin(), known.end(), extension) != known.end();
}

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    out += escaped;
  }
  return out;
}

[[noreturn]] void refuse(std::string_view path, const std::string& rule) {
  throw ConfigError("[image folder] " + printable(path) + ": " + rule);
}

/// A link may only lead to a file inside the root.
void check_link(const fs::path& link, const std::string& root) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  if (error) refuse(link.native(), "link leads nowhere (" + error.message() + "); remove it");
  if (!target.native().starts_with(root + "/")) {
    refuse(link.native(), "link leaves the folder, to " + printable(target.native()) +
                              "; copy the file, or name the folder that holds both");
  }
  if (fs::is_directory(target)) {
    refuse(link.native(), "link to a folder is not followed; copy it, or list that folder itself");
  }
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

[[noreturn]] void cannot_read(std::string_view path, const std::string& rule) {
  throw DataError("file " + printable(path) + ": " + rule);
}

std::string cause() {
  return std::generic_category().message(errno);
}

void read_all(int file, std::byte* to, std::size_t bytes, std::string_view path) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, to + done, bytes - done, static_cast<off_t>(done));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0) {
      cannot_read(path, "must be " + std::to_string(bytes) +
                            " bytes as when it was listed, ends after " + std::to_string(done));
    } else if (errno != EINTR) {
      cannot_read(path, "cannot be read: " + cause());
    }
  }
}

}  // namespace

struct ImageFolder::File {
  std::string path;
  std::uint64_t bytes = 0;
};

ImageFolder::ImageFolder(const fs::path& root) {
  std::error_code error;
  root_ = fs::canonical(root, error).native();
  if (error || !fs::is_directory(root_)) refuse(root.native(), "must be a folder of class folders");
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(root_)) {
      if (is_hidden(entry.path())) continue;
      if (entry.is_symlink()) check_link(entry.path(), root_);
      if (entry.is_directory()) names.push_back(entry.path().filename().native());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      list_class(name);
  } catch (const fs::filesystem_error& failure) {
    refuse(failure.path1().native(), "cannot be listed: " + failure.code().message());
  }
  if (classes_.empty()) refuse(root_, "must hold one folder per class, got none");
  paths_.shrink_to_fit();
  path_end_.shrink_to_fit();
  file_bytes_.shrink_to_fit();
}

void ImageFolder::list_class(const std::string& name) {
  std::vector<File> files;
  const std::string folder = root_ + "/" + name;
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator();
       ++at) {
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
      continue;
    }
    if (at->is_symlink()) check_link(at->path(), root_);
    if (!is_image_name(at->path()) || !at->is_regular_file()) continue;
    files.push_back({at->path().native().substr(root_.size() + 1), at->file_size()});
  }
  if (files.empty())
    refuse(folder, "class folder must hold an image, got none; remove it or fill it");
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  for (const File& file : files)
    add(file.path, file.bytes);
  classes_.push_back(name);
  class_end_.push_back(size());
}

void ImageFolder::add(const std::string& path, std::uint64_t bytes) {
  paths_ += path;
  path_end_.push_back(paths_.size());
  file_bytes_.push_back(bytes);
  largest_file_ = std::max(largest_file_, bytes);
}

std::string_view ImageFolder::path(std::int64_t index) const noexcept {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t begin = i == 0 ? 0 : path_end_[i - 1];
  return std::string_view(paths_).substr(begin, path_end_[i] - begin);
}

std::int64_t ImageFolder::label(std::int64_t index) const noexcept {
  return std::upper_bound(class_end_.begin(), class_end_.end(), index) - class_end_.begin();
}

std::vector<std::int64_t> ImageFolder::labels() const {
  std::vector<std::int64_t> all(file_bytes_.size());
  for (std::int64_t i = 0; i < size(); ++i)
    all[static_cast<std::size_t>(i)] = label(i);
  return all;
}

std::string ImageFolder::name() const {
  return "image folder " + printable(root_);
}

Schema ImageFolder::fields() const {
  return {FieldSpec::ragged("image", DType::uint8, static_cast<std::int64_t>(largest_file_)),
          FieldSpec::fixed("label", DType::int64, Shape{})};
}

/// Valid until the thread asks for another.
const char* ImageFolder::full_path(std::int64_t index) const {
  static thread_local std::string full;
  full.assign(root_).append("/").append(path(index));
  return full.c_str();
}

bool ImageFolder::read_now(std::int64_t index, Sample& sample) const {
  const std::uint64_t bytes = file_bytes_[static_cast<std::size_t>(index)];
  const Descriptor file(detail::open_cached(full_path(index)));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != bytes || bytes == 0)
    return false;
  Tensor& image = sample.make("image", DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  if (!detail::read_cached(file.number(), static_cast<std::byte*>(image.raw()), bytes, 0))
    return false;
  sample.set_scalar<std::int64_t>("label", label(index));
  return true;
}

void ImageFolder::read(std::int64_t index, Sample& sample) const {
  const std::string_view below = path(index);
  const Descriptor file(::open(full_path(index), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) cannot_read(below, "cannot be opened: " + cause());
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) cannot_read(below, "cannot be read: " + cause());
  if (!S_ISREG(status.st_mode)) cannot_read(below, "is no regular file any more");
  const std::uint64_t bytes = file_bytes_[static_cast<std::size_t>(index)];
  if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    cannot_read(below, "must be " + std::to_string(bytes) + " bytes as when it was listed, got " +
                           std::to_string(status.st_size));
  }
  if (bytes == 0) cannot_read(below, "is empty");
  Tensor& image = sample.make("image", DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  read_all(file.number(), static_cast<std::byte*>(image.raw()), image.bytes(), below);
  sample.set_scalar<std::int64_t>("label", label(index));
}

std::size_t ImageFolder::working_bytes(std::int64_t index) const {
  return file_bytes_[static_cast<std::size_t>(index)] * (1 + decoded_bytes_per_file_byte);
}

std::size_t ImageFolder::largest_working_bytes() const {
  return largest_file_ * (1 + decoded_bytes_per_file_byte);
}

std::size_t ImageFolder::resident_bytes() const {
  return paths_.capacity() +
         (path_end_.capacity() + file_bytes_.capacity()) * sizeof(std::uint64_t);
}

std::string ImageFolder::origin(std::int64_t index) const {
  return printable(path(index));
}

}  // namespace headrace::inline v1
