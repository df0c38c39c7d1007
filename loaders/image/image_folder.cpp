#include <headrace/loaders/image/image_folder.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>

#include <headrace/engine/error.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/file/list_folder.h>

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

/// An interrupted call is made again.
int open_file(const char* path) noexcept {
  int number = -1;
  do {
    number = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (number < 0 && errno == EINTR);
  return number;
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

/// A file server has forgotten the file that the name stood for a moment ago.
struct Stale {};

/// What errno says of a call that failed. Lack of memory or descriptors is no fault of the file's.
[[noreturn]] void call_failed(std::string_view path, const char* what) {
  const int error = errno;
  if (error == ESTALE) throw Stale();
  const std::string text = what + std::generic_category().message(error);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    throw ResourceError("file " + printable(path) + ": " + text +
                        "; raise the limits of the process, or use fewer I/O threads");
  }
  cannot_read(path, text);
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
      call_failed(path, "cannot be read: ");
    }
  }
}

/// What a folder's listing failed with: the disk's fault, the machine's, or a wrong name.
[[noreturn]] void cannot_list(const fs::filesystem_error& failure) {
  const int error = failure.code().value();
  const std::string path = printable(failure.path1().native());
  const std::string rule = "cannot be listed: " + failure.code().message();
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    throw ResourceError("[image folder] " + path + ": " + rule +
                        "; raise the limits of the process");
  }
  if (error == EIO || error == ESTALE) throw DataError("[image folder] " + path + ": " + rule);
  refuse(failure.path1().native(), rule);
}

/// Reads anew, after 1, 8 and 64 ms, what a file server has forgotten.
template <class Read>
void read_fresh(std::string_view path, Read read) {
  for (int pause = 1; pause <= 64; pause *= 8) {
    try {
      return read();
    } catch (const Stale&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    }
  }
  try {
    read();
  } catch (const Stale&) {
    cannot_read(path, "cannot be read: " + std::generic_category().message(ESTALE));
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
  try {
    for (const detail::FolderEntry& entry : detail::list_folder(root_)) {
      if (is_hidden(entry.name)) continue;
      if (entry.link) check_link(root_ + "/" + entry.name, root_);
      if (entry.folder) list_class(entry.name);
    }
  } catch (const fs::filesystem_error& failure) {
    cannot_list(failure);
  }
  if (classes_.empty()) refuse(root_, "must hold one folder per class, got none");
  paths_.shrink_to_fit();
  path_end_.shrink_to_fit();
  file_bytes_.shrink_to_fit();
}

/// The pictures of a folder and of those in it, by their paths below the root.
void ImageFolder::list_pictures(const std::string& folder, std::vector<File>& files) const {
  for (const detail::FolderEntry& entry : detail::list_folder(root_ + "/" + folder)) {
    if (is_hidden(entry.name)) continue;
    const std::string below = folder + "/" + entry.name;
    if (entry.link) check_link(root_ + "/" + below, root_);
    if (entry.folder) {
      list_pictures(below, files);
    } else if (entry.regular && is_image_name(entry.name)) {
      files.push_back({below, entry.bytes});
    }
  }
}

void ImageFolder::list_class(const std::string& name) {
  std::vector<File> files;
  list_pictures(name, files);
  if (files.empty()) {
    refuse(root_ + "/" + name, "class folder must hold an image, got none; remove it or fill it");
  }
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
  read_fresh(below, [&] { read_file(index, sample); });
  sample.set_scalar<std::int64_t>("label", label(index));
}

void ImageFolder::read_file(std::int64_t index, Sample& sample) const {
  const std::string_view below = path(index);
  const Descriptor file(open_file(full_path(index)));
  if (file.number() < 0) call_failed(below, "cannot be opened: ");
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) call_failed(below, "cannot be read: ");
  if (!S_ISREG(status.st_mode)) cannot_read(below, "is no regular file any more");
  const std::uint64_t bytes = file_bytes_[static_cast<std::size_t>(index)];
  if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    cannot_read(below, "must be " + std::to_string(bytes) + " bytes as when it was listed, got " +
                           std::to_string(status.st_size));
  }
  if (bytes == 0) cannot_read(below, "is empty");
  Tensor& image = sample.make("image", DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  read_all(file.number(), static_cast<std::byte*>(image.raw()), image.bytes(), below);
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
