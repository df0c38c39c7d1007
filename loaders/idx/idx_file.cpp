#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/internal/byte_order.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

namespace headrace::inline v1 {
namespace {

/// A call was interrupted; zlib cannot go on after that, so the file is read anew.
struct Interrupted {};

struct CloseGz {
  void operator()(gzFile file) const noexcept { ::gzclose(file); }
};

/// Bytes of a file, unpacked when it is gzip.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) {
      throw ConfigError("[idx] " + detail::printable(path.native()) +
                        ": must be an IDX file, there is no such file; check the path");
    }
    stored_ = std::filesystem::file_size(path, none);
    errno = 0;
    file_.reset(::gzopen(path.c_str(), "rbe"));
    if (!file_) call_failed("cannot be opened");
  }

  void read(void* to, std::size_t bytes) {
    auto* at = static_cast<std::byte*>(to);
    while (bytes > 0) {
      const std::size_t want = std::min(bytes, std::size_t{1} << 24);
      const int got = ::gzread(file_.get(), at, static_cast<unsigned>(want));
      if (got <= 0) end(bytes);
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }

  /// Throws when there is more, or when the checksum of a packed file is wrong.
  void require_end() {
    char more = 0;
    const int got = ::gzread(file_.get(), &more, 1);
    if (got > 0) fail("has bytes after its last element");
    int state = Z_OK;
    ::gzerror(file_.get(), &state);  // a checksum that is cut off
    if (got < 0 || state != Z_OK) end(0);
  }

  /// The most bytes that the file can unpack to.
  std::size_t most_bytes() const noexcept {
    constexpr std::size_t deflate_ratio = 1032;
    const bool packed = ::gzdirect(file_.get()) == 0;
    return packed ? stored_ * deflate_ratio : stored_;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError("[idx] " + detail::printable(path_.native()) + ": " + what +
                    "; fetch the file again");
  }

 private:
  [[noreturn]] void end(std::size_t missing) const {
    int code = Z_OK;
    const int error = errno;
    const char* text = ::gzerror(file_.get(), &code);
    if (code == Z_OK) fail("ends " + std::to_string(missing) + " bytes early");
    errno = code == Z_MEM_ERROR ? ENOMEM : error;
    if (code == Z_ERRNO || code == Z_MEM_ERROR) call_failed("cannot be read");
    fail(std::string("cannot be unpacked (") + text + ")");
  }

  /// What errno says of a call that failed.
  [[noreturn]] void call_failed(const char* what) const {
    const int error = errno;
    if (error == EINTR) throw Interrupted();
    const std::string text = std::string(what) + " (" + std::strerror(error) + ")";
    if (error == EMFILE || error == ENFILE || error == ENOMEM) {
      throw ResourceError("[idx] " + detail::printable(path_.native()) + ": " + text +
                          "; raise the limits of the process");
    }
    fail(text);
  }

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, CloseGz> file_;
  std::size_t stored_ = 0;
};

struct Header {
  DType dtype = DType::uint8;
  Shape shape;
  std::size_t bytes = 0;
};

DType dtype_of_code(unsigned code, const Reader& reader) {
  switch (code) {
    case 0x08:
      return DType::uint8;
    case 0x09:
      return DType::int8;
    case 0x0B:
      return DType::int16;
    case 0x0C:
      return DType::int32;
    case 0x0D:
      return DType::float32;
    case 0x0E:
      return DType::float64;
    default:
      reader.fail("has element type " + std::to_string(code) +
                  ", IDX knows 8, 9, 11, 12, 13 and 14");
  }
}

Header read_header(Reader& reader, std::size_t most_bytes, const std::string& file) {
  std::array<unsigned char, 4> magic{};
  reader.read(magic.data(), magic.size());
  if (magic[0] != 0 || magic[1] != 0) reader.fail("does not begin with two zero bytes as IDX does");
  const DType dtype = dtype_of_code(magic[2], reader);
  if (magic[3] < 1 || magic[3] > Shape::max_rank) {
    reader.fail("has rank " + std::to_string(magic[3]) + ", it must be 1 to " +
                std::to_string(Shape::max_rank));
  }
  std::vector<std::int64_t> extents;
  std::size_t bytes = size_of(dtype);
  bool empty = false;  // even then its rows have a size, which the rest of the extents must allow
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<unsigned char, 4> raw{};
    reader.read(raw.data(), raw.size());
    const std::uint32_t extent = std::uint32_t{raw[0]} << 24 | std::uint32_t{raw[1]} << 16 |
                                 std::uint32_t{raw[2]} << 8 | raw[3];
    extents.push_back(extent);
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, std::size_t{extent}, &bytes) ||
               bytes > std::numeric_limits<std::size_t>::max() / 2) {
      reader.fail("declares more elements than 63 bits can count");
    }
  }
  if (empty) bytes = 0;
  const Shape shape{std::span<const std::int64_t>(extents)};
  if (bytes > reader.most_bytes()) {
    reader.fail("declares " + to_string(shape) + " elements, more than it can hold");
  }
  if (bytes > most_bytes) {
    throw ResourceError("[idx] " + detail::printable(file) + ": holds " + std::to_string(bytes) +
                        " bytes, the limit is " + std::to_string(most_bytes) + "; raise it");
  }
  return {dtype, shape, bytes};
}

template <class T>
Tensor widened(const Tensor& labels) {
  std::vector<std::int64_t> values;
  for (T label : labels.values<T>())
    values.push_back(label);
  return Tensor::of(std::span<const std::int64_t>(values), labels.shape());
}

Tensor as_int64(const Tensor& labels, const std::filesystem::path& file) {
  switch (labels.shape().rank() == 1 ? labels.dtype() : DType::float32) {
    case DType::uint8:
      return widened<std::uint8_t>(labels);
    case DType::int8:
      return widened<std::int8_t>(labels);
    case DType::int16:
      return widened<std::int16_t>(labels);
    case DType::int32:
      return widened<std::int32_t>(labels);
    default:
      throw DataError("[idx] " + detail::printable(file.native()) +
                      ": labels must be integers of shape [n], got " +
                      std::string(name_of(labels.dtype())) + " " + to_string(labels.shape()) +
                      "; name the file of labels");
  }
}

std::vector<TableColumn> read_pair(const IdxDatasetOptions& options) {
  Tensor images = read_idx(options.images, options.most_bytes);
  Tensor labels = as_int64(read_idx(options.labels, options.most_bytes), options.labels);
  if (images.shape()[0] != labels.shape()[0]) {
    throw DataError("[idx] " + detail::printable(options.images.native()) + " has " +
                    std::to_string(images.shape()[0]) + " rows but " +
                    detail::printable(options.labels.native()) + " has " +
                    std::to_string(labels.shape()[0]) + "; name a pair that belongs together");
  }
  return {{"image", std::move(images)}, {"label", std::move(labels)}};
}

Tensor read_once(const std::filesystem::path& file, std::size_t most_bytes) {
  Reader reader(file);
  const Header header = read_header(reader, most_bytes, file.native());
  Tensor array = huge_zeros(header.dtype, header.shape);
  reader.read(array.raw(), header.bytes);
  reader.require_end();
  detail::reverse_bytes(array.raw(), static_cast<std::size_t>(array.elements()),
                        size_of(header.dtype));
  return array;
}

}  // namespace

Tensor read_idx(const std::filesystem::path& file, std::size_t most_bytes) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    try {
      return read_once(file, most_bytes);
    } catch (const Interrupted&) {
      continue;
    }
  }
  throw DataError("[idx] " + detail::printable(file.native()) +
                  ": reading was interrupted a hundred times");
}

IdxDataset::IdxDataset(const IdxDatasetOptions& options)
    : Table(read_pair(options), "idx " + detail::printable(options.images.native())) {}

}  // namespace headrace::inline v1
