#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/memory/npy_file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t most_header = 64 << 10;

struct Header {
  DType dtype = DType::uint8;
  bool swap = false;
  std::vector<std::int64_t> shape{};
  std::uint64_t data = 0;  ///< where it begins in the file
};

[[noreturn]] void refuse(const std::string& rule) {
  throw DataError(rule + "; write the array with numpy.save");
}

/// What follows a key of the header's dictionary.
std::string_view after(std::string_view text, std::string_view key) {
  const auto at = text.find("'" + std::string(key) + "'");
  const auto colon = at == std::string_view::npos ? at : text.find(':', at);
  if (colon == std::string_view::npos) refuse("the header has no \"" + std::string(key) + "\"");
  text.remove_prefix(colon + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

DType dtype_of(std::string_view code) {
  constexpr std::array<std::pair<std::string_view, DType>, 12> known{{{"u1", DType::uint8},
                                                                      {"i1", DType::int8},
                                                                      {"u2", DType::uint16},
                                                                      {"i2", DType::int16},
                                                                      {"u4", DType::uint32},
                                                                      {"i4", DType::int32},
                                                                      {"u8", DType::uint64},
                                                                      {"i8", DType::int64},
                                                                      {"f2", DType::float16},
                                                                      {"f4", DType::float32},
                                                                      {"f8", DType::float64},
                                                                      {"b1", DType::boolean}}};
  for (const auto& [name, dtype] : known)
    if (code == name) return dtype;
  refuse("the type must be a number or boolean, got " + detail::quoted(code));
}

void read_type(std::string_view text, Header& header) {
  if (text.size() > 2 && (text[2] == 'U' || text[2] == 'S'))
    refuse(
        "it must hold numbers or booleans, got texts; number names with "
        "numpy.unique(names, return_inverse=True)");
  if (text.size() < 5 || text[0] != '\'' || text[4] != '\'')
    refuse("the type must be a plain one such as '<f4'");
  if (std::string_view("<>|=").find(text[1]) == std::string_view::npos)
    refuse("the byte order must be one of < > | =");
  header.dtype = dtype_of(text.substr(2, 2));
  header.swap = text[1] == '>' && size_of(header.dtype) > 1;
}

void read_shape(std::string_view text, Header& header) {
  if (text.empty() || text.front() != '(') refuse("the shape must be a tuple");
  text.remove_prefix(1);
  while (!text.empty() && text.front() != ')') {
    if (text.front() == ' ' || text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0) refuse("the shape must have whole numbers");
    header.shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (header.shape.empty() || header.shape.size() > static_cast<std::size_t>(Shape::max_rank))
    refuse("the array must have between 1 and " + std::to_string(Shape::max_rank) + " axes");
}

/// As many bytes as the file has from `offset` on.
std::size_t read_bytes(int file, void* to, std::size_t bytes, std::uint64_t offset) {
  const std::int64_t got = detail::pread_all(file, static_cast<std::byte*>(to), bytes, offset);
  if (got < 0) throw DataError("it cannot be read: " + detail::error_text() + "; check the disk");
  return static_cast<std::size_t>(got);
}

Header read_header(int file) {
  std::array<unsigned char, 12> start{};
  const std::size_t got = read_bytes(file, start.data(), start.size(), 0);
  if (got < 10 || std::memcmp(start.data(), "\x93NUMPY", 6) != 0) refuse("it is no .npy file");
  const unsigned version = start[6];
  if (version < 1 || version > 3) refuse("its version must be 1, 2 or 3");
  const std::size_t begin = version == 1 ? 10 : 12;
  std::size_t length = start[8] | static_cast<std::size_t>(start[9]) << 8;
  if (version > 1)
    length |= static_cast<std::size_t>(start[10]) << 16 | static_cast<std::size_t>(start[11]) << 24;
  if (length > most_header) refuse("its header must be shorter than 64 KiB");
  std::string text(length, '\0');
  if (read_bytes(file, text.data(), length, begin) != length) refuse("it ends inside its header");
  Header header;
  header.data = begin + length;
  read_type(after(text, "descr"), header);
  if (!after(text, "fortran_order").starts_with("False"))
    refuse("the array must be in C order (numpy.ascontiguousarray)");
  read_shape(after(text, "shape"), header);
  return header;
}

/// Bytes of the array; throws when they are not those of the file.
std::size_t checked_bytes(const Header& header, std::uint64_t file_bytes) {
  std::size_t bytes = size_of(header.dtype);
  bool empty = false;  // even then its rows have a size, which the rest of the extents must allow
  for (const std::int64_t extent : header.shape) {
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes) ||
               bytes > std::numeric_limits<std::size_t>::max() / 2) {
      refuse("its sizes overflow");
    }
  }
  if (empty) bytes = 0;
  if (file_bytes < header.data || file_bytes - header.data != bytes) {
    refuse("shape and type say " + std::to_string(bytes) + " bytes, the file has " +
           std::to_string(file_bytes - std::min(file_bytes, header.data)));
  }
  return bytes;
}

[[noreturn]] void cannot_open(const std::filesystem::path& file, int error) {
  const std::string what = "[npy] " + detail::printable(file.native()) + ": ";
  if (error == ENOENT || error == ENOTDIR || error == EISDIR)
    throw ConfigError(what + "there is no such file; check the path");
  detail::file_failed(what + "cannot be opened: " + std::generic_category().message(error), error,
                      "; check the path and its permissions");
}

}  // namespace

struct NpyFile::Core {
  explicit Core(const std::filesystem::path& name) : path(name), file(name.c_str()) {}

  std::filesystem::path path;
  detail::FileDescriptor file;
  Header header;
  Shape shape;
  std::size_t row_bytes = 0;
};

NpyFile::NpyFile(const std::filesystem::path& file) {
  auto core = std::make_unique<Core>(file);
  struct stat now {};
  if (core->file.number() < 0 || ::fstat(core->file.number(), &now) != 0) cannot_open(file, errno);
  if (!S_ISREG(now.st_mode)) cannot_open(file, ENOENT);
  try {
    core->header = read_header(core->file.number());
    const std::size_t bytes = checked_bytes(core->header, static_cast<std::uint64_t>(now.st_size));
    const std::int64_t rows = core->header.shape[0];
    core->row_bytes = rows > 0 ? bytes / static_cast<std::size_t>(rows) : 0;
  } catch (const DataError& error) {
    throw DataError("[npy] " + detail::printable(file.native()) + ": " + error.what());
  }
  core->shape = Shape(std::span<const std::int64_t>(core->header.shape));
  core_ = std::move(core);
}

NpyFile::~NpyFile() = default;
NpyFile::NpyFile(NpyFile&&) noexcept = default;
NpyFile& NpyFile::operator=(NpyFile&&) noexcept = default;

DType NpyFile::dtype() const noexcept {
  return core_->header.dtype;
}
const Shape& NpyFile::shape() const noexcept {
  return core_->shape;
}

Tensor NpyFile::rows(std::int64_t first, std::int64_t count) const {
  check_rows(first, count);
  Tensor tensor = Tensor::empty(core_->header.dtype, core_->shape.row().batched(count));
  read_rows(first, count, tensor.raw());
  return tensor;
}

void NpyFile::read_rows(std::int64_t first, std::int64_t count, void* to) const {
  check_rows(first, count);
  const std::uint64_t at =
      core_->header.data + static_cast<std::uint64_t>(first) * core_->row_bytes;
  const std::size_t bytes = static_cast<std::size_t>(count) * core_->row_bytes;
  try {
    if (read_bytes(core_->file.number(), to, bytes, at) != bytes)
      throw DataError("it has become shorter since it was opened");
  } catch (const DataError& error) {
    throw DataError("[npy] " + detail::printable(core_->path.native()) + ": " + error.what());
  }
  const std::size_t value_bytes = size_of(core_->header.dtype);
  if (core_->header.swap) detail::reverse_bytes(to, bytes / value_bytes, value_bytes);
}

void NpyFile::check_rows(std::int64_t first, std::int64_t count) const {
  if (first >= 0 && count >= 0 && first <= core_->shape[0] - count) return;
  throw DataError("[npy] " + detail::printable(core_->path.native()) + ": rows " +
                  std::to_string(first) + " to " + std::to_string(first + count) +
                  " were asked for, it has " + std::to_string(core_->shape[0]));
}

}  // namespace headrace::inline v1
