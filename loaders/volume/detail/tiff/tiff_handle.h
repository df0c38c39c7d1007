#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/volume/detail/voxel/voxel_file.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct tiff;

namespace headrace::inline v1::detail {

/// How a page keeps its voxels: one grey sample a pixel, in strips or tiles.
struct TiffPage {
  std::int64_t width = 0, height = 0;
  DType dtype = DType::uint8;
  std::int64_t part_width = 0, part_height = 0;  ///< of a strip or tile
  std::size_t part_bytes = 0;
  bool tiled = false;
  bool plain = false;    ///< strips hold the rows as they are in memory, but for the byte order
  bool swapped = false;  ///< where plain: of the other byte order

  std::size_t row_bytes() const noexcept {
    return static_cast<std::size_t>(width) * size_of(dtype);
  }
};

/// libtiff on a file, at one of its directories. One thread at a time. Nothing of the process is
/// changed and nothing printed; what is wrong becomes VoxelFile::fail().
class TiffHandle {
 public:
  TiffHandle() = default;
  ~TiffHandle() { close(); }
  TiffHandle(const TiffHandle&) = delete;
  TiffHandle& operator=(const TiffHandle&) = delete;

  /// At the first directory. No strip or tile may be larger than `most_bytes`.
  void open(std::shared_ptr<const VoxelFile> file, std::size_t most_bytes);
  void close() noexcept;
  bool is_open() const noexcept { return handle_ != nullptr; }
  const VoxelFile* file() const noexcept { return file_.get(); }

  /// Goes to the next directory; false after the last.
  bool next();
  /// Goes to the directory at that byte of the file, if it is at another.
  void go_to(std::uint64_t directory);
  std::uint64_t directory() const noexcept;

  /// The page of this directory, checked. `number` is for messages.
  TiffPage page(std::size_t number);
  /// Whether it is a smaller copy or a mask of another.
  bool is_extra() const;
  /// Of this directory; as long as the handle is at it.
  std::string_view description() const;
  /// Pixels per unit of length along y and x; 0 where it does not say.
  std::array<double, 2> resolution() const;

  /// Decodes the strip or tile that holds pixel (x, y), all of it that lies in the page; `out` has
  /// at most part_bytes.
  void read_part(const TiffPage& page, std::int64_t x, std::int64_t y, std::span<std::byte> out);
  /// Where the strip of row y lies, which holds at least `bytes`. Of plain pages.
  std::uint64_t place_of(const TiffPage& page, std::int64_t y, std::size_t bytes);

  /// For libtiff's callbacks, and a count of what was read.
  std::uint64_t size() const noexcept { return file_->size(); }
  std::uint64_t place = 0;
  std::uint64_t read_bytes = 0;
  std::string message;
  std::exception_ptr refusal;  ///< what reading the file threw

 private:
  template <class T>
  T tag(unsigned number, T otherwise) const;
  void require_read();
  [[noreturn]] void fail(const std::string& rule);
  [[noreturn]] void fail_page(std::size_t number, const std::string& rule);
  void check_kind(std::size_t number);
  void check_slices(std::size_t number);
  void measure_parts(std::size_t number, TiffPage& page);
  void require_possible(std::size_t number, const TiffPage& page);

  std::shared_ptr<const VoxelFile> file_;
  std::size_t most_bytes_ = 0;
  ::tiff* handle_ = nullptr;
};

}  // namespace headrace::inline v1::detail
